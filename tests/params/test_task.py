from __future__ import annotations

import pytest

from fedtext.params.evaluation import Classification, Entities, Questions
from fedtext.params.task import Task
from tests.parameters import conf_base
from tests.refusals import refuses


def test_a_class_is_written_in_words() -> None:
    assert conf_base(Task, labels="card_arrival, fee").names == ("card arrival", "fee")


def test_codes_are_all_values_of_all_parts() -> None:
    task = conf_base(Task, labels={"category": "bars shopping", "stars": [1, 5], "gone": None})
    assert task.labels == ("bars\t1", "bars\t5", "shopping\t1", "shopping\t5")
    assert conf_base(Task, labels={"stars": "1 2"}).labels == ("1", "2")
    assert conf_base(Task, labels={"gone": None}).labels == ()


def test_bad_labels() -> None:
    with refuses("named-twice"):
        conf_base(Task, labels="a b a")
    with refuses("empty-label"):
        conf_base(Task, labels=["a", "_"])
    with refuses("too-few-labels", parameter="task.labels", value=1):
        conf_base(Task, labels="a").validate_classes("wasp")


@pytest.mark.parametrize(
    ("measured", "labels", "dp", "expected"),
    [
        (None, "a b", False, True),
        (None, "a b", True, False),
        (None, "", False, False),
        (True, "a b", True, True),
        (False, "a b", False, False),
    ],
)
def test_classification_is_measured_where_it_can_be(
    measured: bool | None, labels: str, dp: bool, expected: bool
) -> None:
    task, classification = conf_base(Task, labels=labels), conf_base(Classification, measured=measured)
    assert classification.is_measured(task, dp=dp) is expected
    classification.validate_settings(task, dp=dp)


def test_what_was_asked_for_and_cannot_be_had_is_refused() -> None:
    asked = conf_base(Classification, measured=True)
    with refuses("too-few-labels", parameter="task.labels", value=0):
        asked.validate_settings(conf_base(Task), dp=False)
    tagged = conf_base(Entities, measured=True)
    tagged.validate_settings(conf_base(Task), dp=False)
    with refuses("measure-has-no-release", parameter="evaluation.questions.measured"):
        conf_base(Questions, measured=True).validate_settings(conf_base(Task), dp=True)
    with refuses("measure-has-no-release", parameter="evaluation.entities.measured"):
        tagged.validate_settings(conf_base(Task), dp=True)
