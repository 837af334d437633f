"""Whether a value is there, however the table that holds it was made or stored.

A text that is not there is None in a table that was just made. Once stored as Parquet and read again it is NaN, NA or
None, by the column's type, and pandas makes NaN of the None that is put into such a column. So nobody asks a column
itself: its values are read here.
"""

from __future__ import annotations

from typing import Any

import pandas as pd


def missing(value: object) -> bool:
    """Whether there is no value: None, or what pandas has in its place."""
    return value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and value != value)


def nullable(column: pd.Series) -> list[Any]:
    """The column's values, None where there is none."""
    return [None if missing(value) else value for value in column.tolist()]
