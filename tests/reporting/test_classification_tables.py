from __future__ import annotations

import re

import numpy as np
import pytest

from fedtext.evaluation.classification import compare_classified
from fedtext.evaluation.measures.downstream import GIVEN, TRUE
from fedtext.evaluation.tasks.classification import classification_limits
from fedtext.params.task import Task
from fedtext.reporting.comparison import compare_runs
from fedtext.reporting.tables import task_tables
from tests.parameters import conf_base

LEVELS = {"eps0": 0.3, "public_control": 0.5, "synthetic": 0.7, "private": 0.9}


@pytest.fixture(scope="module")
def document() -> dict:
    rng, true = np.random.default_rng(0), np.arange(400) % 2
    scored = {
        name: {
            TRUE: true,
            GIVEN: np.where(rng.random(400) < level, true, 1 - true),
            "texts": np.asarray(0 if name == "eps0" else 60),
            "by_class": np.asarray([60, 0] if name == "public_control" else [30, 30]),
            "named": np.asarray(int(name == "public_control")),
        }
        for name, level in LEVELS.items()
    }
    return compare_classified(scored, conf_base(Task, labels="tea rum"), np.arange(400) // 4, "tfidf")


def test_the_table_has_both_measures_with_intervals(document: dict) -> None:
    html = task_tables({"classification": document})
    assert "a logistic regression on words" in html
    found = document["conditions"]["synthetic"]
    assert f"{100 * found['macro_f1']:.1f}%" in html
    assert len(re.findall(r"\d+\.\d to \d+\.\d\)", html)) >= 2 * len(LEVELS)


def test_what_was_classed_by_name_and_what_is_missing_is_said(document: dict) -> None:
    said = classification_limits(document)
    assert said[0].startswith("public texts: these texts came without classes")
    assert "public texts: 1 of 2 classes have no text to learn from, so none is ever found (rum)." in said


def test_a_comparison_can_be_led_by_claims_on_it(document: dict) -> None:
    from fedtext.params.compare import Claims
    from fedtext.reporting.comparison import Run
    from tests.evaluation.examples import card

    runs = [
        Run(entry, "pe", seed, {}, {**card(), "classification": document}, {}, [])
        for entry in ("pe", "other")
        for seed in (1, 2)
    ]
    found = compare_runs(runs, conf_base(Claims, measures="top_1 class_accuracy macro_f1"))
    assert found["measures"] == ["top_1", "class_accuracy", "macro_f1"]
    assert found["entries"]["pe"]["measures"]["macro_f1"]["mean"] == pytest.approx(
        document["conditions"]["synthetic"]["macro_f1"]
    )
