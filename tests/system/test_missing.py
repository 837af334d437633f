"""A value that is not there is read as None, whatever the table was made of and wherever it has been."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fedtext.system.missing import is_blank, nullable

GIVEN = ["a", None, "", "nan", "None"]


@pytest.mark.parametrize("dtype", ["object", "str", "string", "string[pyarrow]", "category"])
def test_none_comes_back_as_none_from_every_kind_of_column(dtype: str, tmp_path: Path) -> None:
    column = pd.Series(GIVEN, dtype=object).astype(dtype)
    assert nullable(column) == GIVEN
    pd.DataFrame({"label": column}).to_parquet(tmp_path / "a.parquet")
    assert nullable(pd.read_parquet(tmp_path / "a.parquet")["label"]) == GIVEN


@pytest.mark.parametrize("values", [[None, None], [float("nan"), pd.NA], [pd.NaT, None], []])
def test_a_column_of_nothing_has_nothing(values: list[object], tmp_path: Path) -> None:
    assert nullable(pd.Series(values, dtype=object)) == [None] * len(values)
    pd.DataFrame({"label": pd.Series([None] * len(values), dtype=object)}).to_parquet(tmp_path / "a.parquet")
    assert nullable(pd.read_parquet(tmp_path / "a.parquet")["label"]) == [None] * len(values)


@pytest.mark.parametrize(
    "text", ["", " \t", "\u200b", "\ufe0f", "\u034f\u180b", "\u17b4", "\U000e0100", "\u2800 \u3164"]
)
def test_what_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(text + "a")
