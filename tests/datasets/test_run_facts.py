"""What a report says of its run: a report is not written anew because a day has passed."""

from __future__ import annotations

import pytest

from fedtext.datasets.errors import StorageError
from fedtext.datasets.run_facts import RunFactsDataset


def told(**facts: object) -> RunFactsDataset:
    dataset = RunFactsDataset()
    dataset.tell({"command": "kedro run", "date": "2026-11-24", "models": {"a": "b"}, "parameters": {"c": 1}} | facts)
    return dataset


def test_results_depend_on_models_and_parameters_and_not_on_the_day_or_the_command() -> None:
    first = told()
    assert told(date="2027-01-01", command="kedro run --tags report").identity() == first.identity()
    assert told(models={"a": "c"}).identity() != first.identity()
    assert told(parameters={"c": 2}).identity() != first.identity()


def test_what_was_told_is_loaded_and_nothing_can_be_saved() -> None:
    assert told().load()["date"] == "2026-11-24"
    assert RunFactsDataset().load() == {}
    with pytest.raises(StorageError, match="read only"):
        told().save({})
