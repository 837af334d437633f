from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.corpora.splits import (
    client_splits,
    corpus_splits,
    record_splits,
    sample_splits,
    split_of,
    splits_of,
    validate_client_split,
    validate_splits,
    with_splits,
)
from fedtext.params.corpus import Partition
from fedtext.params.privacy import Privacy
from tests.parameters import conf_base
from tests.refusals import refuses

SHARES = {"validation_share": 0.1, "test_share": 0.2}


def test_shares_are_kept_in_the_large():
    splits = list(splits_of((str(i) for i in range(20_000)), **SHARES, seed=0).values())
    assert splits.count("test") == pytest.approx(4000, abs=250)  # 4.4 standard deviations
    assert splits.count("validation") == pytest.approx(2000, abs=190)
    assert splits.count("train") == 20_000 - splits.count("test") - splits.count("validation")


@settings(max_examples=30)
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


def test_an_empty_split_of_a_public_corpus_is_an_error_with_a_remedy():
    few = conf_base(Partition, validation_share=0.01, test_share=0.01)
    with refuses("split-too-small"):
        validate_splits(records(["a", "b", "c"]), few)
    with refuses("split-too-small"):
        validate_splits(records([]), conf_base(Partition, SHARES))
    validate_splits(records([str(i) for i in range(99)]), conf_base(Partition, SHARES))


def test_who_falls_into_which_split_is_said_even_if_one_is_empty():
    """Whether one is may be one private client's doing."""
    few = conf_base(Partition, validation_share=0.01, test_share=0.01)
    assert set(client_splits(records(["a", "b", "c"]), few)) == {"a", "b", "c"}
    assert client_splits(records([]), few) == {}
    assert with_splits(silos(["a", "b"] * 9), BY_RECORD)["split"].notna().all()


def test_an_empty_split_does_not_tell_how_many_clients_there_are():
    said = set()
    for number in (3, 4, 5):
        own = records([str(i) for i in range(number)], ["train"] * (number - 2) + ["validation", "test"])
        with refuses("split-too-small") as refusal:
            validate_splits(own, conf_base(Partition))
        said.add(str(refusal.value))
    assert len(said) == 1


def test_shares_must_leave_something_to_train_on():
    with refuses("no-training-clients", parameter="partition.test_share", value=0.5):
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
    ("given", "code"),
    [
        (["train", "validation", "dev"], "unknown-split"),
        (
            ["train", "validation", "train"],
            "split-too-small",
        ),
    ],
)
def test_splits_that_a_public_corpus_cannot_have(given, code):
    with refuses(code):
        validate_splits(records(["a", "b", "c"], given), conf_base(Partition))


def test_a_client_in_two_splits_is_refused():
    with refuses("client-in-two-splits"):
        corpus_splits(["a", "b", "a"], ["train", "validation", "test"])


BY_RECORD = conf_base(Partition, **SHARES, split="record")


def silos(texts: list[str], count: int = 3) -> pd.DataFrame:
    return pd.DataFrame({"client_id": [f"silo {i % count}" for i in range(len(texts))], "text": texts})


def test_records_are_split_within_every_silo():
    table = with_splits(silos([f"text {i}" for i in range(3000)]), BY_RECORD)
    counts = table.groupby(["client_id", "split"]).size().unstack()
    assert counts["test"].tolist() == pytest.approx([200] * 3, abs=50)  # 4 standard deviations
    assert counts["validation"].tolist() == pytest.approx([100] * 3, abs=38)


@settings(max_examples=30)
@given(first=st.integers(100, 150), more=st.integers(1, 100), seed=st.integers(0, 5))
def test_a_record_s_split_is_its_own_and_that_of_its_copies(first, more, seed):
    """No record more or less, and no other silo, moves one from test to train; a copy is on the same side."""
    drawn = conf_base(Partition, validation_share=0.3, test_share=0.3, split="record", seed=seed)
    texts = [f"text {i}" for i in range(first)]
    before = record_splits(silos(texts), drawn)
    after = record_splits(silos([*texts, *(f"later {i}" for i in range(more)), *texts], 7), drawn)
    assert after[:first] == after[first + more :] == before


def test_the_split_of_a_record_never_changes():
    """Golden: another hash would silently train on what earlier runs tested on."""
    params = conf_base(Partition, validation_share=0.25, test_share=0.25, split="record")
    found = record_splits(silos([f"record {i}" for i in range(12)]), params)
    assert found == [
        "validation",
        "test",
        "train",
        "train",
        "test",
        "train",
        "test",
        "test",
        "test",
        "train",
        "train",
        "train",
    ]


def test_samples_go_where_their_records_go_and_else_where_their_clients_do():
    clients = with_splits(silos([f"text {i}" for i in range(60)]), BY_RECORD)
    assert sample_splits(clients, clients, BY_RECORD).tolist() == clients["split"].tolist()
    by_client = conf_base(Partition, **SHARES)
    owners = pd.DataFrame({"client_id": [str(i) for i in range(99)]})
    assert with_splits(owners, by_client) is owners
    assert sample_splits(owners, owners, by_client).tolist() == list(client_splits(owners, by_client).values())


def test_split_records_need_records_on_both_sides_and_protected():
    with refuses("split-too-small"):
        validate_splits(with_splits(silos(["a", "b"] * 9), BY_RECORD), BY_RECORD)
    with refuses("record-split-of-clients", parameter="partition.split", value="record"):
        validate_client_split(BY_RECORD, conf_base(Privacy))
    validate_client_split(BY_RECORD, conf_base(Privacy, unit="record"))
    validate_client_split(conf_base(Partition), conf_base(Privacy))
