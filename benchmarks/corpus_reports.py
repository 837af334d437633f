"""POPri on LargeFedBench's own text, from raw pages to the pages in docs/reports.

    python -m benchmarks.corpus_reports abstracts|speeches [--raw ../shared/data] [--root build/reports] [--params ...]

Builds the snapshots, runs every job of the page by `kedro run` into a data root of its own (what is done already is not
repeated), and writes docs/reports/<page>.md from the scorecards. What a person has written in that file from the line
"## What we conclude" on is kept. A job is of the main job's size, but the
abstracts have 12,000 private chunks to embed and to train the upper bound on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fedtext.evaluation.measures.distances import FID, MEAN_GAP
from fedtext.evaluation.measures.known import measures_in_document
from fedtext.evaluation.wording import change, count, share
from fedtext.params.conditions import CONDITIONS, CONTROLS, EPS0, PRIVATE

ROOT = Path(__file__).parents[1]
KEDRO = Path(sys.executable).with_name("kedro")
CONCLUSION = "## What we conclude"
SETTINGS = {"privacy.delta": "0.0001", "evaluation.max_eval_samples": 1000}
# A small snapshot needs larger shares than the benchmark's 3 and 2 percent to have held-out clients to measure on.
SHARES = {"largefedbench.split.validation_share": 0.1, "largefedbench.split.test_share": 0.15}
ALL_IN_TRAIN = {"largefedbench.split.validation_share": 0, "largefedbench.split.test_share": 0}
SNAPSHOTS = {
    "2025.1": SHARES,
    "ca-2023": {**SHARES, "largefedbench.sources": "ca"},
    "us-2005": {**ALL_IN_TRAIN, "largefedbench.sources": "us"},
}
US_RECORD = "us-2005/congress/clients/train-00000.parquet"


class Job(NamedTuple):
    """One run: its data root's name, a description, the source of its text, and its other parameters."""

    name: str
    title: str
    snapshot: str
    config: str
    public: str | None = None
    settings: Mapping[str, object] = {}


PAGES = {
    "abstracts": [Job("abstracts", "Abstracts, public text: docstrings, ε = 1", "2025.1", "scitldr")],
    "speeches": [
        Job("speeches", "Canadian and US speeches, public text: docstrings, ε = 1", "2025.1", "congress"),
        Job("canada", "Canadian speeches, public text: the US record, ε = 1", "ca-2023", "congress", US_RECORD),
        Job("canada8", "The same at ε = 8", "ca-2023", "congress", US_RECORD, {"privacy.epsilon": 8}),
    ],
}  # fmt: skip


def command(*words: str, **params: object) -> list[str]:
    """Return a `kedro run` command; parameter names have `__` for a point, or are given as they are."""
    return ["kedro", "run", *words, "--params", ",".join(f"{name}={value}" for name, value in params.items())]


def run(line: list[str]) -> None:
    """Run the command in the project, in this environment, without tracking."""
    environment = {**os.environ, "FEDTEXT_TRACKING": "off"}
    subprocess.run([str(KEDRO), *line[1:]], cwd=ROOT, env=environment, check=True)


def link_raw_pages(shared: Path, raw: Path) -> None:
    """Create the directory that the build expects, with links to the real files."""
    (raw / "scitldr").mkdir(parents=True, exist_ok=True)
    places = {raw / name: shared / "congress" / name for name in ("ca", "us")}
    places |= {raw / "scitldr" / path.name: path for path in sorted((shared / "abstracts").glob("*.jsonl"))}
    for link, target in places.items():
        if not link.exists():
            link.symlink_to(target.resolve())


def build_commands(root: Path, wanted: set[str]) -> list[list[str]]:
    """Return one build command a snapshot, without the figures of the benchmark itself."""
    words = ("--pipelines", "largefedbench", "--to-nodes", "build_largefedbench")
    common = {"data_root": root, "largefedbench.near_duplicates": "ignore"}
    return [command(*words, **common, **{"largefedbench.snapshot": name}, **SNAPSHOTS[name]) for name in sorted(wanted)]


def job_command(job: Job, root: Path, extra: str) -> list[str]:
    """Return the command of a run."""
    snapshots = root / "03_primary" / "largefedbench"
    source = {"corpus.source": "snapshot", "corpus.snapshot": snapshots / job.snapshot, "corpus.config": job.config}
    public = {"corpus.public_path": snapshots / job.public} if job.public else {}
    more = dict(pair.split("=", 1) for pair in extra.split(",") if pair)
    return command(**{"data_root": root / job.name, **source, **public, **SETTINGS, **job.settings, **more})


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def accuracy_table(accuracy: Mapping[str, Any]) -> str:
    """Return the table of every condition: its gain over the public model, and the synthetic texts' gain over it."""
    conditions, judged = accuracy["conditions"], accuracy["judged"]
    measure, *_ = measures_in_document(accuracy)
    references = {one.name for one in (EPS0, *CONTROLS)}
    rows = []
    for name in [name for name in CONDITIONS if name in conditions]:
        against = accuracy["gains"].get(name, {}).get(EPS0.name)
        ours = accuracy["gains"][judged].get(name) if name in references else None
        row = [CONDITIONS[name].title, count(conditions[name]["texts"]), measure.shown(conditions[name][measure.name])]
        rows.append([*row, change(measure, against) if against else "–", change(measure, ours) if ours else "–",
                     share(accuracy["gap_closed"].get(name)) if name != PRIVATE.name else "100%"])  # fmt: skip
    head = ["on-device model trained on", "texts", measure.column, f"{measure.unit.step} over the public model"]
    return table([*head, "synthetic texts ahead by", "gap closed"], rows)


def distance_table(distribution: Mapping[str, Any]) -> str:
    """Return the table of FIDs of the sets and of each round's candidates, and the self-distance of held-out text."""
    shown = (FID, MEAN_GAP)
    rows = [[CONDITIONS[name].title, *[each.shown(found[each.name]) for each in shown], "–"]
            for name, found in distribution["sets"].items()]  # fmt: skip
    for entry in distribution["rounds"]:
        name = f"candidates after {entry['adapter']} rounds of training"
        score = entry["released_score"]
        cells = [each.shown(entry[each.name]) for each in shown]
        rows.append([name, *cells, "–" if score is None else f"{score:.4f}"])
    bias = distribution["bias"]
    rows.append([f"held-out text against itself (2 × {bias['size']})", FID.shown(bias["mean"]), "–", "–"])
    return table(["set", *[each.column for each in shown], "released score"], rows)


def section(job: Job, root: Path, line: list[str]) -> Iterator[str]:
    """Yield one run's section of the page."""
    card = json.loads((root / job.name / "08_reporting" / "popri" / "scorecard.json").read_text("utf-8"))
    texts = pd.read_parquet(root / job.name / "07_model_output" / "popri" / "synthetic.parquet")["text"]
    yield f"## {job.title}\n"
    yield "\n".join(card["headline"]) + "\n"
    yield accuracy_table(card["accuracy"])
    yield distance_table(card["distribution"])
    yield "Six synthetic texts, the first of the set:\n"
    yield "\n".join(f"> {' '.join(text.split()).replace('<', '&lt;')}\n>" for text in texts.head(6)) + "\n"
    yield "\n".join(["```bash", " ".join(line).replace(str(root), "ROOT"), "```", ""])


def write_page(page: str, jobs: list[tuple[Job, list[str]]], builds: list[list[str]], root: Path) -> Path:
    """Write the page, and keep the conclusion that it already has."""
    path = ROOT / "docs" / "reports" / f"{page}.md"
    written = path.read_text("utf-8").partition(CONCLUSION)[2] if path.is_file() else "\n\n(to be written)\n"
    parts = [f"# POPri on the {page} of a LargeFedBench snapshot\n"]
    parts += [f"`python -m benchmarks.corpus_reports {page}` wrote all of this but the conclusion. The snapshots:\n"]
    parts += ["```bash", *(" ".join(line).replace(str(root), "ROOT") for line in builds), "```\n"]
    parts += [
        "Intervals are 95%, over held-out clients; each job is one run, with noise from the operating system, so another "
        "run differs by its noise and its training as well.\n"
    ]
    for job, line in jobs:
        parts += section(job, root, line)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, CONCLUSION]) + written, "utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", choices=list(PAGES))
    parser.add_argument("--raw", type=Path, default=ROOT / "../shared/data")
    parser.add_argument("--root", type=Path, default=ROOT / "build" / "reports")
    parser.add_argument("--params", default="", help="further parameters of every run, as kedro run takes them")
    parser.add_argument("--only-write", action="store_true", help="from runs that are there")
    chosen = parser.parse_args()
    root = chosen.root.resolve()
    jobs = [(job, job_command(job, root, chosen.params)) for job in PAGES[chosen.page]]
    wanted = {job.snapshot for job, _ in jobs} | {job.public.partition("/")[0] for job, _ in jobs if job.public}
    builds = build_commands(root, wanted)
    if not chosen.only_write:
        link_raw_pages(chosen.raw, root / "01_raw")
        for line in [*builds, *(line for _, line in jobs)]:
            run(line)
    print(write_page(chosen.page, jobs, builds, root))


if __name__ == "__main__":
    main()
