"""What a report says of its run: a report is not written anew because a day has passed.

The history of releases as a node reads it.
"""

from __future__ import annotations

from pathlib import Path

from fedtext.datasets.run_facts import ReleaseHistoryDataset, RunFactsDataset
from fedtext.privacy.history import History
from tests.privacy.histories import release, spent
from tests.refusals import refuses


def told(**facts: object) -> RunFactsDataset:
    dataset = RunFactsDataset()
    dataset.add_facts(
        {"command": "kedro run", "date": "2026-11-24", "models": {"a": "b"}, "parameters": {"c": 1}} | facts
    )
    return dataset


def test_results_depend_on_models_and_parameters_and_not_on_the_day_or_the_command() -> None:
    first = told()
    assert told(date="2027-01-01", command="kedro run --tags report").identity() == first.identity()
    assert told(models={"a": "c"}).identity() != first.identity()
    assert told(parameters={"c": 2}).identity() != first.identity()


def test_what_was_told_is_loaded_and_nothing_can_be_saved() -> None:
    assert told().load()["date"] == "2026-11-24"
    assert RunFactsDataset().load() == {}
    with refuses("facts-are-read-only"):
        told().save({})


def test_every_answer_is_read_once_in_order_and_makes_the_history_another_one(tmp_path: Path) -> None:
    dataset, history = ReleaseHistoryDataset(filepath=str(tmp_path)), History(tmp_path)
    assert dataset.load() == ()
    assert dataset.exists(), "no answer is a history too"
    seen = {dataset.identity()}
    votes = [spent(release(round=t), f"bytes {t}", node="vote") for t in (1, 2)]
    for entry in (votes[0], votes[1], spent(None, "look", reason="no mechanism")):
        assert history.add(entry)
        seen.add(dataset.identity())
    assert not history.add(votes[0])
    assert [(e.node, e.round, e.receipt) for e in dataset.load()] == [
        ("vote", 1, "bytes 1"),
        ("vote", 2, "bytes 2"),
        ("node", 0, "look"),
    ]
    assert len(seen | {dataset.identity()}) == 4


def test_nodes_do_not_write_it(tmp_path: Path) -> None:
    with refuses("history-is-read-only"):
        ReleaseHistoryDataset(filepath=str(tmp_path)).save([])
