"""Records to samples: one row a chunk, counted per client."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from fedtext.corpora.samples import sample_records
from fedtext.params.corpus import Chunking
from fedtext.records import SAMPLE_COLUMNS


def words(texts: list[str], **_: Any) -> dict[str, list[list[tuple[int, int]]]]:
    """A tokenizer whose tokens are words."""
    return {"offset_mapping": [[m.span() for m in re.finditer(r"\S+", text)] for text in texts]}


def records(*rows: tuple[str, str, str | None]) -> pd.DataFrame:
    return pd.DataFrame([(c, t, label, None) for c, t, label in rows], columns=["client_id", "text", "label", "date"])


def cut(table: pd.DataFrame) -> pd.DataFrame:
    return sample_records(table, words, Chunking(length=4, min_tokens=2))  # type: ignore[arg-type]


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


def test_no_records_make_no_samples() -> None:
    made = cut(records())
    assert made.empty
    assert list(made.columns) == list(SAMPLE_COLUMNS)
