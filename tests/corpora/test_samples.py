"""Records to samples: one row a chunk, counted per client."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.records import SAMPLE_COLUMNS
from fedtext.corpora.samples import sample_records, spread_samples
from fedtext.params.corpus import Chunking


def words(texts: list[str], **_: Any) -> dict[str, list[list[tuple[int, int]]]]:
    """A tokenizer whose tokens are words."""
    return {"offset_mapping": [[m.span() for m in re.finditer(r"\S+", text)] for text in texts]}


def records(*rows: tuple[str, str, str | None]) -> pd.DataFrame:
    return pd.DataFrame([(c, t, label, None) for c, t, label in rows], columns=["client_id", "text", "label", "date"])


def cut(table: pd.DataFrame, *, first_only: bool = False) -> pd.DataFrame:
    return sample_records(table, words, Chunking(length=4, min_tokens=2, first_only=first_only))  # type: ignore[arg-type]


def test_a_client_s_chunks_are_numbered_over_all_its_records_in_order() -> None:
    made = cut(records(("a", "1 2 3 4 5 6", "x"), ("b", "7 8", None), ("a", "9 10 11", "y")))
    assert list(made.columns) == list(SAMPLE_COLUMNS)
    assert made[["client_id", "index", "text", "n_tokens"]].to_numpy().tolist() == [
        ["a", 0, "1 2 3 4", 4], ["a", 1, "5 6", 2], ["b", 0, "7 8", 2], ["a", 2, "9 10 11", 3]
    ]  # fmt: skip
    assert made["label"].isna().tolist() == [False, False, True, False]


def test_a_short_rest_is_dropped_and_text_is_never_rendered_again() -> None:
    made = cut(records(("a", "1  2\n3 4 5", None)))
    assert made["text"].tolist() == ["1  2\n3 4"]


def test_one_sample_a_document_is_its_first() -> None:
    made = cut(records(("a", "1 2 3 4 5 6", "x"), ("b", "7", None), ("a", "9 10 11 12 13 14", "y")), first_only=True)
    assert made[["client_id", "index", "text"]].to_numpy().tolist() == [
        ["a", 0, "1 2 3 4"], ["b", 0, "7"], ["a", 1, "9 10 11 12"]
    ]  # fmt: skip


def test_a_chunk_has_its_record_s_split() -> None:
    table = records(("a", "1 2 3 4 5 6", "x"), ("a", "7 8", None)).assign(split=["test", "train"])
    made = cut(table)
    assert made["split"].tolist() == ["test", "test", "train"]
    assert list(made.columns) == [*SAMPLE_COLUMNS, "split"]


def test_no_records_make_no_samples() -> None:
    made = cut(records())
    assert made.empty
    assert list(made.columns) == list(SAMPLE_COLUMNS)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.integers(1, 40))
def test_a_bound_takes_one_sample_of_every_text_before_a_second_of_any(sizes: list[int], most: int) -> None:
    clients = np.repeat([f"text {i}" for i in range(len(sizes))], sizes)
    samples = pd.DataFrame({"client_id": clients, "text": np.arange(len(clients)).astype(str)})
    kept = spread_samples(samples, most)
    assert len(kept) == min(most, len(samples))
    assert kept["text"].astype(int).is_monotonic_increasing
    counts = kept["client_id"].value_counts().reindex(np.unique(clients), fill_value=0)
    fewest = counts[counts < np.unique(clients, return_counts=True)[1]].min()  # of those with samples to spare
    assert np.isnan(fewest) or counts.max() <= fewest + 1
    assert spread_samples(samples, None) is samples
