"""Precision and recall of kept words, by country, on passages that were labelled by reading the raw pages.

    python -m benchmarks.largefedbench_recall                    # the table of docs/largefedbench/precision.md

The pages are those of ../shared (or --shared DIR), the labels those of tests/largefedbench/labels.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.label_scores import read_abstract_labels, read_labels, score, score_abstracts
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base

LABELS = Path(__file__).parents[1] / "tests" / "largefedbench" / "labels"
COUNTRIES = {"us": "US", "uk": "UK", "ca": "Canada"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    options = parser.parse_args()
    print(
        "| | passages | speeches | words to keep | precision | recall | right speaker |\n|---|---:|---:|---:|---:|---:|---:|"
    )
    for source, country in COUNTRIES.items():
        one = score(read_labels(LABELS / f"{source}.json"), options.shared / "data", source, conf_base(LargeFedBench))
        shares = (one.precision(), one.recall(), one.rightly_named / one.named)
        cells = [country, one.passages, one.speeches, f"{one.expected:,}", *(f"{share:.2%}" for share in shares)]
        print("| " + " | ".join(map(str, cells)) + " |")
    of = score_abstracts(read_abstract_labels(LABELS / "biorxiv.json"), options.shared / "data")
    cells = ["bioRxiv", of.passages, of.speeches, f"{of.expected:,}", f"{of.precision():.2%}", f"{of.recall():.2%}", ""]
    print("| " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
