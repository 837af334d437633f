"""Missing values, however the table that holds them was made or stored.

A missing text is None in a table that was just made. Once stored as Parquet and read again it is NaN, NA or None, by
the column's type, and pandas turns a None that is put into such a column into NaN. So code tests values with these
functions and not with pandas.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pandas as pd


def missing(value: object) -> bool:
    """Return whether `value` is None or one of pandas' missing values."""
    return value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and value != value)


def nullable(column: pd.Series) -> list[Any]:
    """Return the column's values, with None for missing ones."""
    return [None if missing(value) else value for value in column.tolist()]


BLANK = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})  # Unicode's spaces, controls and characters without a width
# Letters, marks and signs that show nothing: a braille blank, and Unicode's Default_Ignorable_Code_Point besides these.
INVISIBLE = re.compile(
    "[\u2800\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


def is_blank(text: str) -> bool:
    """Return whether `text` shows nothing to a reader."""
    return all(unicodedata.category(one) in BLANK or INVISIBLE.match(one) for one in text)


def as_read(text: str) -> str:
    """Return the text as a reader takes it: without capitals, width, invisible characters and differing spaces."""
    if text.isascii():
        return " ".join(text.casefold().split())
    shown = "".join(one for one in INVISIBLE.sub("", text) if unicodedata.category(one) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", shown).casefold().split())
