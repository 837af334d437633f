"""docs/tutorial_add_an_algorithm.md: its files, in a copy of the project, are an algorithm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tutorial.pages import files, run

PAGE = "tutorial_add_an_algorithm.md"
SMALL = (
    "corpus.max_clients=90,corpus.public_texts=60,toy.texts=20,"
    "evaluation.texts=20,evaluation.private_texts=20,evaluation.max_eval_samples=30"
)


def test_it_touches_nine_files_at_most() -> None:
    assert len(files(PAGE)) <= 9


def test_the_files_read_as_the_project_s_own(project: Path) -> None:
    written = [one.path for one in files(PAGE) if one.path.endswith(".py")]
    run(project, "ruff", "check", *written)
    run(project, "ruff", "format", "--check", *written)


def test_its_own_test_passes(project: Path) -> None:
    run(project, "pytest", "-q", "-p", "no:cacheprovider", "tests/algorithms/test_toy.py")


@pytest.mark.slow  # tests/neighbours sees that of the project's own algorithms at every commit
def test_no_other_client_s_message_moves(project: Path) -> None:
    first = ("-k", "toy and not night")
    said = run(project, "pytest", "-q", "-p", "no:cacheprovider", "tests/neighbours/test_neighbours.py", *first)
    assert "1 passed" in said


@pytest.mark.slow  # the project's own tiny jobs run at every commit
def test_the_job_runs_to_its_reports(project: Path) -> None:
    run(project, "kedro", "run", "--pipelines", "toy", "--env", "tiny", "--params", SMALL)
    reporting = project / "data" / "tiny" / "08_reporting" / "toy"
    card = json.loads((reporting / "scorecard.json").read_text())
    assert card["algorithm"] == "Topic counts"
    assert card["synthetic_texts"] == 20
    assert 0 < card["accuracy"]["conditions"]["synthetic"]["top_1"] < 1
    report = json.loads((reporting / "privacy_report.json").read_text())
    assert [(one["name"], one["round"]) for one in report["releases"]] == [("toy.counts", 0)]
    assert "toy.counts" in (reporting / "privacy_report.md").read_text()
    assert "<html" in (reporting / "report.html").read_text()
