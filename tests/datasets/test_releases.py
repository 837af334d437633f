"""The history of releases as a node reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
from kedro.io import DatasetError

from fedtext.datasets.releases import ReleaseHistoryDataset
from fedtext.provenance import ReleaseEntry, Store


def entry(node: str, identity: str, result: str | None = None) -> ReleaseEntry:
    return ReleaseEntry(node=node, identity=identity, parameters={}, result=result)


def test_the_same_result_counts_once_and_a_run_that_was_cut_short_counts(tmp_path: Path) -> None:
    dataset = ReleaseHistoryDataset(filepath=str(tmp_path))
    assert dataset.load() == ()
    before = dataset.identity()
    with Store.locked(tmp_path) as store:
        assert store.note_release(entry("vote", "one"))
        assert dataset.load() == (entry("vote", "one"),)
        assert store.note_release(entry("vote", "one", "bytes"))
        assert not store.note_release(entry("vote", "one", "bytes"))
        store.note_release(entry("vote", "two", "bytes"))
        store.note_release(entry("vote", "three"))
        store.note_release(entry("other", "one", "bytes"))
    assert [(e.node, e.identity, e.result) for e in dataset.load()] == [
        ("vote", "one", "bytes"),
        ("vote", "three", None),
        ("other", "one", "bytes"),
    ]
    assert dataset.identity() != before


def test_nodes_do_not_write_it(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="written by the runner"):
        ReleaseHistoryDataset(filepath=str(tmp_path)).save([])
