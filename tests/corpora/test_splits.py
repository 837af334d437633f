from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.corpora.splits import client_splits, corpus_splits, split_of, splits_of
from fedtext.params.corpus import Partition
from tests.parameters import conf_base

SHARES = {"validation_share": 0.1, "test_share": 0.2}


def test_shares_are_kept_in_the_large():
    splits = list(splits_of((str(i) for i in range(20_000)), **SHARES, seed=0).values())
    assert splits.count("test") == pytest.approx(4000, abs=250)  # 4.4 standard deviations
    assert splits.count("validation") == pytest.approx(2000, abs=190)
    assert splits.count("train") == 20_000 - splits.count("test") - splits.count("validation")


@settings(max_examples=30, deadline=None)
@given(first=st.integers(60, 100), more=st.integers(1, 200), seed=st.integers(0, 5))
def test_appending_or_reordering_never_moves_a_client(first, more, seed):
    ids = [f"client {i}" for i in range(first)]
    shares = {"validation_share": 0.3, "test_share": 0.3}
    before = splits_of(ids, **shares, seed=seed)
    longer = ids + [f"later {i}" for i in range(more)]
    after = splits_of(longer, **shares, seed=seed)
    assert {one: after[one] for one in ids} == before
    assert splits_of(ids[::-1], **shares, seed=seed) == before


def test_a_client_has_one_split_however_often_it_occurs():
    ids = [str(i % 50) for i in range(500)]
    splits = splits_of(ids, **SHARES, seed=1)
    assert splits == splits_of(ids[:50], **SHARES, seed=1)
    assert splits == {one: split_of(one, **SHARES, seed=1) for one in ids[:50]}


def test_growing_the_test_share_only_adds_to_it():
    def test_ids(share: float) -> set[int]:
        return {i for i in range(500) if split_of(str(i), validation_share=0.1, test_share=share, seed=0) == "test"}

    assert test_ids(0.1) < test_ids(0.3)


def test_the_seed_draws_another_split():
    ids = [str(i) for i in range(200)]
    assert splits_of(ids, **SHARES, seed=0) != splits_of(ids, **SHARES, seed=1)


def test_the_split_of_an_id_never_changes():
    """Golden: another hash would silently train on what earlier runs tested on."""
    found = [split_of(f"client-{i}", validation_share=0.25, test_share=0.25, seed=0) for i in range(12)]
    assert found == ["test"] * 2 + ["train"] * 7 + ["validation", "test", "train"]


def records(owners: list[str], splits: list[str] | None = None) -> pd.DataFrame:
    """A corpus's records, with a column of splits or without."""
    table = pd.DataFrame({"client_id": pd.Series(owners, dtype=object)})
    return table if splits is None else table.assign(split=splits)


def test_an_empty_split_is_an_error_with_a_remedy():
    with pytest.raises(ValueError, match=r"none of 3 clients falls into the .* split.*change\s+partition.seed"):
        client_splits(records(["a", "b", "c"]), conf_base(Partition, validation_share=0.01, test_share=0.01))
    with pytest.raises(ValueError, match="none of 0 clients"):
        client_splits(records([]), conf_base(Partition, SHARES))


def test_shares_must_leave_something_to_train_on():
    with pytest.raises(ValueError, match=r"validation_share 0.5 and partition.test_share 0.5 leave no training"):
        split_of("a", validation_share=0.5, test_share=0.5, seed=0)


def test_a_corpus_keeps_its_own_splits():
    owners, given = ["a", "b", "c", "a", "d"], ["train", "validation", "test", "train", "test"]
    expected = {"a": "train", "b": "validation", "c": "test", "d": "test"}
    assert corpus_splits(owners, given) == expected
    assert client_splits(records(owners, given), conf_base(Partition)) == expected
    by_hash = splits_of(map(str, range(99)), **SHARES, seed=4)
    anew = conf_base(Partition, **SHARES, split="hash", seed=4)
    assert client_splits(records([str(i) for i in range(99)], ["train"] * 99), anew) == by_hash
    assert client_splits(records([str(i) for i in range(99)]), anew.model_copy(update={"split": "corpus"})) == by_hash


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["train", "validation", "dev"], "split 'dev': it must be one of train, validation, test"),
        (["train", "validation", "train"], "none of 3 clients falls into the test split.*partition.split=hash"),
    ],
)
def test_splits_that_a_corpus_cannot_have(given, reason):
    with pytest.raises(ValueError, match=reason):
        corpus_splits(["a", "b", "c"], given)


def test_a_client_in_two_splits_is_refused():
    with pytest.raises(ValueError, match=r"one client in train and in test.*partition\.split=hash"):
        corpus_splits(["a", "b", "a"], ["train", "validation", "test"])
