"""What LargeFedBench's builder makes of the small inputs that once failed, a row a case.

    python -m benchmarks.largefedbench_cases                     # the table of docs/experiments/largefedbench_cases.md

The cases are those of ../shared/cases/largefedbench (or --shared DIR): raw folders of our own wording, and `make.sh`
files for what cannot be stored.
"""

from __future__ import annotations

import argparse
import datetime
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.release import write_release
from fedtext.largefedbench.snapshot import provenance, read_table
from fedtext.largefedbench.sources import SOURCES
from fedtext.largefedbench.tokens import ChunkTokenizer, load_tokenizer
from fedtext.models.language_model import bundled
from fedtext.params.largefedbench import LargeFedBench
from fedtext.system.errors import FedtextError

LIMIT = 10  # seconds of the processor that a case may take
TAKEN_DOWN = "2024-05-14.us.pt1-PgH3001.0001"


class Outcome(NamedTuple):
    """A case and what it gives: the clients kept, what was left out by rule, what was named, what was not read."""

    case: str
    kept: str
    left_out: str
    named: str

    def row(self) -> str:
        """Return a row of a Markdown table."""
        return "| " + " | ".join(self) + " |"


Parameters = Callable[..., LargeFedBench]  # from what differs from conf/base


def outcomes(cases: Path, work: Path, parameters: Parameters) -> Iterator[Outcome]:
    """Yield what each case gives, in the order of their names."""
    tokenizer = load_tokenizer(bundled("generator"), name="bundled:generator")
    for case in sorted(path for path in cases.iterdir() if path.is_dir()):
        folder = work / "cases" / case.name
        shutil.copytree(case, folder)
        if (make := folder / "make.sh").exists():
            subprocess.run(["bash", make.name], cwd=folder, check=True)
            make.unlink()
        held = {path.name for path in folder.iterdir() if path.is_dir()}
        parts = [folder] if held & SOURCES.keys() else sorted(folder / name for name in held)
        for part in parts:
            name = case.name if part is folder else f"{case.name}/{part.name}"
            started = time.process_time()
            yield _outcome(name, part, work / "out" / name, tokenizer, parameters)
            assert time.process_time() - started < LIMIT, name


def _outcome(name: str, raw: Path, out: Path, tokenizer: ChunkTokenizer, parameters: Parameters) -> Outcome:
    def built(snapshot: str) -> Path:
        params = parameters(snapshot=snapshot, raw_dir=str(raw), near_duplicates="ignore")
        return build_snapshot(params, tokenizer, raw_dir=raw, out_dir=out)

    try:
        snapshot = built("a")
    except FedtextError as refusal:
        return Outcome(name, "", "", "refused: " + _shown(str(refusal).replace(f"{raw}/", "")))
    facts = provenance(snapshot)
    named = [
        f"{kind}: {', '.join(names)}" for one in facts["sources"].values() for kind, names in one["unknown"].items()
    ]
    named += [f"{bad['page']}: {bad['reason']}" for bad in facts["bad_pages"]]
    if lines := facts["takedown_lines_that_match_nobody"]:
        named.append(f"takedown lines that match nobody: {lines}")
    if name == "takedown-named-by-release":
        (raw / "takedown.txt").write_text(f"id: {TAKEN_DOWN}\n")
        release = write_release(built("b"), snapshot, out / "release", datetime.date(2026, 1, 1))
        texts = [path.read_bytes() for path in release.rglob("*") if path.is_file()]
        named.append(
            f"files of the release after the takedown that hold the id: {sum(TAKEN_DOWN.encode() in one for one in texts)}"
        )
    return Outcome(name, _kept(snapshot, facts), "; ".join(_left_out(facts)), _shown("; ".join(named)))


def _kept(snapshot: Path, facts: dict[str, Any]) -> str:
    rows = [row for config in facts["configs"] for row in read_table(snapshot, config, "clients").to_pylist()]
    return _shown(" / ".join(f"{row['speaker'] + ': ' if row['speaker'] else ''}{row['text']}" for row in rows))


def _left_out(facts: dict[str, Any]) -> Iterator[str]:
    for one in facts["sources"].values():
        yield from (f"{rule} {counts['turns']}" for rule, counts in one["left_out"].items())
        yield from (f"{rule} ({counts['words']} words)" for rule, counts in one["removed"].items() if rule not in QUIET)


QUIET = frozenset({"vocative", "speaker_label", "heading", "page_header", "fused_heading"})  # on nearly every page
LONGEST = 340


def _shown(text: str) -> str:
    text = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("{", "&#123;")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def table(cases: Path, parameters: Parameters) -> str:
    """Return the table of all cases."""
    with tempfile.TemporaryDirectory() as work:
        rows = [one.row() for one in outcomes(cases, Path(work), parameters)]
    return "\n".join(["| case | kept | left out or removed | named |", "|---|---|---|---|", *rows]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    from parameters import conf_base  # which a test cannot import

    shared = parser.parse_args().shared
    print(table(shared / "cases/largefedbench", partial(conf_base, LargeFedBench)), end="")


if __name__ == "__main__":
    main()
