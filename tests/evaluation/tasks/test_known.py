"""Every downstream task, whichever there are: its names are its own, and a place is kept for what it measures."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from fedtext.evaluation.measures.known import measure
from fedtext.evaluation.tasks.known import TASKS, measured_tasks
from fedtext.evaluation.tasks.task import DownstreamTask
from fedtext.params.task import Task
from tests.evaluation.examples import card
from tests.parameters import conf_base, parameters


def deep_value(values: Any, dotted: str) -> Any:
    return reduce(lambda inner, name: inner[name], dotted.split("."), values)


def test_names_verbs_and_groups_are_a_task_s_own() -> None:
    for names in zip(*((task.name, task.verb, task.group) for task in TASKS), strict=True):
        assert len(set(names)) == len(TASKS)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_its_measures_are_known_and_stand_in_its_document(task: DownstreamTask) -> None:
    for each in task.measures:
        assert measure(each.name) is each
        assert task.name == each.HOME[0]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_nothing_is_measured_by_default(task: DownstreamTask) -> None:
    settings = task.parameters.model_validate(deep_value(parameters(), task.group))
    for dp in (False, True):
        assert not settings.is_measured(conf_base(Task), dp=dp)
        settings.validate_settings(conf_base(Task), dp=dp)


def test_a_scorecard_has_a_place_for_each() -> None:
    empty = card()
    assert [empty[task.name] for task in TASKS] == [None] * len(TASKS)
    assert list(measured_tasks(empty)) == []
