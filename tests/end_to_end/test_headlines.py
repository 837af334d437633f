"""The first lines of real runs say what happened: nothing released, public and counted, private with or without a limit."""

from __future__ import annotations

import json
import random
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.end_to_end.conftest import kedro, params

CLIENTS, ENROLLED, LABELS = 83, 110, ("late", "broken")
WORDS = ["the", "my", "parcel", "card", "order", "is", "late", "broken", "why", "how", "when", "refund", "please"]
SMALL = {
    "corpus__public_texts": 40,
    "corpus__public_samples": 40,
    "evaluation__texts": 20,
    "evaluation__max_eval_samples": 40,
    "evaluation__untuned__written": "false",
    "privacy__population": ENROLLED,
    "privacy__delta": 0.001,
}
PUBLIC_SAID = ("text is public", "corpus is public", "public text:")


@pytest.fixture
def table(tmp_path: Path) -> dict[str, object]:
    """Parameters of a private table of two classes, of which nobody said that it is public."""
    drawn = random.Random(3)
    rows = [
        {"client_id": f"person-{i % CLIENTS}", "label": LABELS[i % 2], "text": " ".join(drawn.choices(WORDS, k=18))}
        for i in range(3 * CLIENTS + 8)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "mine.csv", index=False)
    return {
        "data_root": tmp_path / "data",
        "corpus__source": "table",
        "corpus__path": tmp_path / "mine.csv",
        "task__labels": " ".join(LABELS),
        **SMALL,
    }


class Left:
    """What a run said of privacy, in its report, its privacy report and its last lines."""

    def __init__(self, root: Path, algorithm: str, stdout: str) -> None:
        reporting = root / "08_reporting" / algorithm
        card = json.loads((reporting / "scorecard.json").read_text())
        self.first, self.second = card["headline"][:2]
        self.notes = " ".join(card["notes"])
        self.report: dict[str, Any] = json.loads((reporting / "privacy_report.json").read_text())
        self.markdown = (reporting / "privacy_report.md").read_text()
        self.page = unescape((reporting / "report.html").read_text())
        self.printed = " ".join(stdout.split())
        assert self.first in self.page
        assert self.second in self.page
        assert f"{self.first} {self.second}" in self.printed

    def everything(self) -> str:
        """All of it but the page, whose glossary and figures speak of public text too."""
        return " ".join([self.first, self.second, self.notes, self.markdown, self.printed])


def ran(pipeline: str, root: object, **told: object) -> Left:
    done = kedro("run", "--env", "tiny", "--pipelines", pipeline, "--params", params(data_root=root, **told))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return Left(Path(str(root)), pipeline, done.stdout)


@pytest.mark.slow
def test_a_run_without_the_private_text_says_that_it_released_nothing_of_it(table: dict[str, object]) -> None:
    root = table.pop("data_root")
    left = ran("zero_shot", root, **table, zero_shot__texts=40)
    enrolled = round(ENROLLED * 0.7)
    assert left.first == (
        f"What this run made was made without the text of the {enrolled} clients: nothing was released of it."
    )
    assert left.second == "It costs them no privacy, ε = 0. No release of these clients' text is on record."
    assert left.markdown.splitlines()[2].startswith(f"Nothing was released of what the {enrolled} clients hold")
    assert "epsilon so far 0.00, 0 releases (of 8.00 that may be spent)" in left.printed
    assert "Synthetic text by Zero-shot beside a table of texts" in left.page
    assert "test clients is protected as well" in left.notes, "who did pay is said beside it"
    assert not left.report["data_set"]["public"]
    assert not any(said in left.everything() for said in PUBLIC_SAID)
    assert "protects" not in left.first
    no_exact_count(Path(str(root)))


def no_exact_count(root: Path) -> None:
    """Of the private table no number of rows or clients is in a document that is handed on."""
    tables = [pd.read_parquet(file) for file in root.rglob("private_*.parquet")]
    known = {len(one) for one in tables} | {one["client_id"].nunique() for one in tables if "client_id" in one}
    telling = {one for one in known if one > 60}
    assert {CLIENTS, 3 * CLIENTS + 8} <= telling
    documents = [
        file
        for folder in ("03_primary", "05_model_input", "07_model_output", "08_reporting")
        for file in (root / folder).rglob("*.json")
        if not file.name.startswith(("private_", "figure_"))
    ]
    assert len(documents) > 8
    for file in documents:
        assert not telling & set(numbers(json.loads(file.read_text()))), file


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [one for inner in value.values() for one in numbers(inner)]
    if isinstance(value, list):
        return [len(value), *(one for inner in value for one in numbers(inner))]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_a_public_corpus_is_called_public_and_its_releases_are_counted(tiny_run: Path) -> None:
    report = json.loads((tiny_run / "08_reporting" / "popri" / "privacy_report.json").read_text())
    card = json.loads((tiny_run / "08_reporting" / "popri" / "scorecard.json").read_text())
    assert card["headline"][1].endswith(
        " It is the only release on record of these clients' text: ε = 8.00; the text is public, so releases are "
        "counted and not refused."
    )
    assert (report["data_set"]["public"], report["data_set"]["budget"]) == (True, None)
    assert "the corpus is public, so releases are counted and none is refused" in report["data_set"]["statement"]


@pytest.mark.slow  # a whole job, twice
def test_a_private_table_with_a_budget_and_without_a_limit_are_told_apart(table: dict[str, object]) -> None:
    root = Path(str(table.pop("data_root")))
    table |= {"popri__rounds": 1, "popri__synthetic_texts": 30, "popri__pool_minimum": 30}
    bounded = ran("popri", root, **table)
    only = " It is the only release on record of these clients' text: ε = 8.00"
    assert bounded.first.startswith(f"This run protects each of {round(ENROLLED * 0.7)} clients")
    assert bounded.second.endswith(f"{only} of a budget of 8.00.")
    assert "epsilon so far 8.00, 1 release (of 8.00 that may be spent)" in bounded.printed
    endless = ran("popri", root, **table, privacy__total_epsilon="inf")
    assert endless.second.endswith(f"{only}; the text is private, and nothing limits what its releases cost.")
    assert "epsilon so far 8.00, 1 release (private text, without a limit)" in endless.printed
    assert "the corpus is private, and nothing limits what its releases cost" in endless.markdown
    for left in (bounded, endless):
        assert not any(said in left.everything() for said in PUBLIC_SAID)
        assert not left.report["data_set"]["public"]
    no_exact_count(root)


@pytest.mark.slow  # a whole job
def test_exact_figures_of_a_private_table_say_first_that_test_clients_are_not_protected(
    table: dict[str, object],
) -> None:
    told = {**table, "zero_shot__texts": 40, "evaluation__dp": "false", "evaluation__private_control": "true"}
    left = ran("zero_shot", told.pop("data_root"), **told)
    assert "The test clients are not protected by these figures" in left.notes
    assert "The control at ε = ∞ was trained on the protected text itself" in left.notes
    assert left.page.index("The test clients are not protected") < left.page.index("What it is worth")


@pytest.mark.slow  # a whole job
def test_rounds_of_generators_alone_release_nothing_either(table: dict[str, object]) -> None:
    told = {**table, "fusegen__texts": 40, "fusegen__rounds": 1}
    left = ran("fusegen", told.pop("data_root"), **told)
    assert left.first.startswith("What this run made was made without the text of the")
    assert not any(said in left.everything() for said in PUBLIC_SAID)
