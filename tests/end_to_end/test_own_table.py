"""Whole jobs on a table of one's own, which nobody declared public: the guard is as strict there as it gets."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

from fedtext.corpora.splits import splits_of
from fedtext.federation.units import unit_codes
from tests.end_to_end.conftest import kedro, params

HOLD_TEXT, SILENT = 60, 20
WORDS = [
    "the",
    "a",
    "my",
    "card",
    "account",
    "transfer",
    "is",
    "late",
    "why",
    "how",
    "do",
    "i",
    "open",
    "new",
    "pin",
    "lost",
    "fee",
    "charge",
    "at",
    "this",
    "bank",
    "today",
]
SPLIT = {"validation_share": 0.1, "test_share": 0.2, "seed": 0}  # of conf/tiny and conf/base
COMPARED = {
    "compare__algorithms": "pe",
    "compare__seeds": "1 2",
    "privacy__population": HOLD_TEXT,
    "privacy__delta": 0.01,
}
SMALL = {"popri__rounds": 1, "popri__synthetic_texts": 30, "popri__pool_minimum": 30, "evaluation__texts": 30}


def texts(kind: str, count: int) -> list[str]:
    drawn = random.Random(kind)
    return [f"{' '.join(drawn.choices(WORDS, k=20))}, {kind} question number {i}" for i in range(count)]


@pytest.fixture
def own(tmp_path: Path) -> dict[str, object]:
    """Parameters of a private table of `HOLD_TEXT` clients with two texts each, and of public text beside it."""
    ids = [f"person-{i}" for i in range(HOLD_TEXT)] * 2
    table = pd.DataFrame({"client_id": ids, "text": texts("private", len(ids))})
    public = pd.DataFrame({"text": texts("public", 150)})
    for name, frame in (("mine", table), ("public", public)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    files = {"corpus__path": tmp_path / "mine.csv", "corpus__public_path": tmp_path / "public.csv"}
    return {"corpus__source": "table", "data_root": tmp_path / "data", **files, **SMALL}


@pytest.mark.slow  # test_main_job.py runs a private table with a list at every commit
def test_with_a_list_of_the_enrolled_the_main_job_runs_to_its_report(tmp_path: Path, own: dict[str, object]) -> None:
    """The silent ones of the list count: in the population, in the sentence of protection, and among those asked."""
    ids = [f"person-{i}" for i in range(HOLD_TEXT + SILENT)]
    (tmp_path / "ids.txt").write_text("\n".join(ids))
    told = params(**own, privacy__enrolment=tmp_path / "ids.txt", privacy__delta=0.01)
    done = kedro("run", "--env", "tiny", "--params", told)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    data = tmp_path / "data"
    trained = [one for one, split in splits_of(ids, **SPLIT).items() if split == "train"]
    (population,) = data.rglob("population.json")
    numbers = json.loads(population.read_text())
    assert (numbers["enrolled"], numbers["training"], numbers["source"]) == (len(ids), len(trained), "listed")
    (asked,) = data.rglob("private_enrolment.safetensors")
    assert np.array_equal(np.sort(load_file(asked)["unit"]), np.sort(unit_codes(trained)))
    assert f"protects each of {len(trained)} clients" in " ".join(done.stdout.split())
    assert not [file for file in data.rglob("ledger*.json") if "ids.txt" in file.read_text()], "a ledger is public"


def compare(own: dict[str, object], total: float) -> subprocess.CompletedProcess[str]:
    told = params(**own, **COMPARED, privacy__total_epsilon=total)
    return kedro("run", "--env", "tiny", "--pipelines", "compare", "--params", told)


def would_cost(refused: subprocess.CompletedProcess[str]) -> float:
    """What all runs together would, as the refusal says."""
    assert refused.returncode == 1, refused.stdout[-2000:] + refused.stderr[-2000:]
    said = refused.stderr.splitlines()[-1]
    assert said.startswith("Error: the budget does not pay for all runs of this comparison, and none was started: ")
    (found,) = re.findall(r"would make it (\d+\.\d+)", said)
    return float(found)


@pytest.mark.slow
def test_a_comparison_that_the_budget_does_not_pay_for_is_refused_before_its_first_run(
    tmp_path: Path, own: dict[str, object]
) -> None:
    assert would_cost(compare(own, total=9.0)) > 9.0
    left = tmp_path / "data"
    assert not [*left.rglob("private_*"), *left.rglob("releases.jsonl"), *left.rglob("seed_*")]


@pytest.mark.slow
def test_a_comparison_runs_and_costs_what_was_said_before(tmp_path: Path, own: dict[str, object]) -> None:
    """Its runs are given the path of the private table, which the guard lets no node of its own read."""
    total = math.ceil(would_cost(compare(own, total=9.0)) * 100) / 100  # as epsilons are told
    done = compare(own, total)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    page = (tmp_path / "data/08_reporting/compare/comparison.md").read_text()
    assert f"Publishing all runs of all seeds together costs ε = {total:.2f}" in page
