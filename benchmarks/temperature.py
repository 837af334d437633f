"""What the generator's temperature does to POPri's texts: how they teach, and how they read.

    python -m benchmarks.temperature [--corpora docstrings bank abstracts speeches] [--temperatures 0.7 1.0] [--seeds 1 2]
                                     [--texts 200] [--pool 400] [--out build/temperature]

The temperature is that of all that is written: the public texts from one sentence, and POPri's own. A seed
and a temperature have public texts, a release, prompts and texts of their own. `--texts` texts are chosen in each form:

- public: public texts, the first that were written;
- public, matched: public texts that match the release, out of a pool of `--pool`;
- guided: texts that the release guides, chosen out of as many.

The on-device model is trained on each set and on as many private samples, and reads private text that nobody trained
on. What is there already is not computed again; the table is of the seeds that are there.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from benchmarks.corpus_reports import build_commands, link_raw_pages, run
from benchmarks.guidance import CORPORA, ROOT, SHARED, Job, Pool, released
from fedtext.corpora.records import spread_samples
from fedtext.evaluation.fine_tuning import fine_tune_and_count

FORMS = ("public", "public, matched", "guided", "private")


def corpora(snapshots: Path) -> dict[str, dict[str, Any]]:
    """Return the run parameters of each corpus; snapshots of speeches are below a folder."""
    abstracts = {
        "source": "table",
        "path": str(SHARED / "data/abstracts/scitldr_train.jsonl"),
        "text_column": "abstract",
        "client_column": "paper_id",
        "description": "abstracts of papers about machine learning",
        "declared_public": True,
    }
    speeches = {
        "source": "snapshot",
        "snapshot": str(snapshots / "ca-2023"),
        "config": "congress",
        "description": "speeches in the House of Commons of Canada",
        "declared_public": True,
    }
    return {
        **CORPORA,
        "abstracts": {"corpus": abstracts, "privacy": {"population": 2000}},
        "speeches": {"corpus": speeches},
    }


def built_snapshots(out: Path) -> Path:
    """Build the snapshot of Canadian speeches below a folder, unless it is there, and return its parent."""
    snapshots = out / "snapshots/03_primary/largefedbench"
    if not (snapshots / "ca-2023").is_dir():
        link_raw_pages(SHARED / "data", out / "raw")
        for line in build_commands(out / "snapshots", {"ca-2023"}):
            run([*line[:-1], f"{line[-1]},largefedbench.raw_dir={out / 'raw'}"])
    return snapshots


def measured(parameters: dict[str, Any], texts: int, size: int) -> dict[str, dict[str, float]]:
    """Return accuracy and cross-entropy of every form of one seed at one temperature."""
    with KedroSession.create(runtime_params=parameters) as session:
        catalog = session.load_context().catalog
        place = Path(parameters["data_root"]) / "guidance"
        job = Job(catalog, place, texts)
        private, test = catalog.load("private_train"), catalog.load("private_test")["text"].tolist()
        evaluation, on_device = catalog.load("params:evaluation"), catalog.load("on_device")
    missing = max(size - len(job.public), 8)
    unguided = job.of_public(job.kept("more", lambda: job.untrained(None, texts=missing)), size)
    guided = job.kept("guided", lambda: job.untrained(job.words(pairs=True), texts=size))
    sets = {
        "public": job.public["text"].head(texts).tolist(),
        "public, matched": job.chosen(unguided),
        "guided": job.chosen(Pool(guided.table[:size], guided.embeddings[:size], guided.seconds)),
        "private": spread_samples(private, texts)["text"].tolist(),
    }
    (place / "sets.json").write_text(json.dumps(sets, indent=1))
    counted = fine_tune_and_count(on_device, sets, test, evaluation, length=job.chunking.length, seed=job.popri.seed)
    found = {form: counts.summary() for form, (counts, _) in counted.items()}
    return {form: {"top_1": 100 * one["top_1"], "nats": one["cross_entropy"]} for form, one in found.items()}


Found = dict[tuple[str, float], list[dict[str, dict[str, float]]]]


def table(found: Found) -> Iterator[str]:
    """Yield the Markdown table: each form's cross-entropy and accuracy, means over seeds, and each seed's."""
    yield "| corpus | temperature | texts | nats a token | by seed | accuracy, % | by seed |"
    yield "|---|---|---|---|---|---|---|"
    for (corpus, temperature), seeds in found.items():
        for form in FORMS:
            nats, top = ([seed[form][fact] for seed in seeds] for fact in ("nats", "top_1"))
            cells = [f"{np.mean(nats):.2f}", ", ".join(f"{one:.2f}" for one in nats)]
            cells += [f"{np.mean(top):.1f}", ", ".join(f"{one:.1f}" for one in top)]
            yield f"| {corpus} | {temperature} | {form} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=["docstrings", "bank", "abstracts", "speeches"])
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0.7, 1.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--pool", type=int, default=400)
    parser.add_argument("--out", type=Path, default=ROOT / "build/temperature")
    chosen = parser.parse_args()
    bootstrap_project(ROOT)
    out = chosen.out.resolve()
    known = corpora(built_snapshots(out) if "speeches" in chosen.corpora else out)
    found: Found = defaultdict(list)
    for seed in chosen.seeds:
        for corpus in chosen.corpora:
            first = None
            for temperature in chosen.temperatures:
                root = out / f"{corpus}-{seed}-{temperature}"
                parameters = {"data_root": str(root), "popri": {"seed": seed}, **known[corpus]}
                parameters |= {
                    "generation": {"temperature": temperature},
                    "described": {"seed": seed},
                }
                kept = root / "guidance.json"
                if not kept.is_file():
                    released(parameters, first)
                    kept.write_text(json.dumps(measured(parameters, chosen.texts, chosen.pool), indent=1))
                first = first or root
                found[corpus, temperature].append(json.loads(kept.read_text()))
                print("\n".join(table(found)), flush=True)


if __name__ == "__main__":
    main()
