"""What every value of a row goes through: names of rows, ids and labels as text, dates, and what is refused."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.system.errors import InputError
from fedtext.system.missing import nullable

ROWS_NAMED = 5


def record_table(
    owners: Sequence[str], held: Mapping[str, Sequence[str | None]], path: Path, rows: pd.Index
) -> pd.DataFrame:
    """Records of `owners` and what they hold (`text`, `label`, `date`), read from the `rows` of the file `path`.

    Raises:
        ValueError: a value is no Unicode text.
    """
    records = pd.DataFrame({"client_id": owners, **held}, columns=list(RECORD_COLUMNS), index=rows, dtype=object)
    refuse_broken({column: records[column].tolist() for column in RECORD_COLUMNS}, path, rows)
    return records.reset_index(drop=True)


def refuse_broken(columns: Mapping[str, Sequence[Any]], path: Path, rows: pd.Index) -> None:
    """Raise ValueError if a value of the `columns` of the file `path` is no Unicode text."""
    for column, values in columns.items():
        held = pd.Series(values, rows, dtype=object)
        refuse(held, _half_surrogate, f"{path}, {column}", "half a surrogate pair, not Unicode text")


def own_names(*columns: Sequence[str | None]) -> list[str]:
    """A name for every row that is a client of its own: a digest of what it holds, equal rows numbered."""
    rows = (json.dumps(row).encode() for row in zip(*columns, strict=True))
    digests = [hashlib.sha256(row).hexdigest()[:20] for row in rows]
    seen: Counter[str] = Counter()
    names = []
    for one in digests:
        seen[one] += 1
        names.append(one if seen[one] == 1 else f"{one}-{seen[one]}")
    return names


def optional(table: pd.DataFrame, column: str, as_text: Callable[[object], str]) -> list[str | None]:
    """The column's values as text, None where there is none; a column that is not there has none."""
    values = nullable(table[column]) if column in table.columns else [None] * len(table)
    return [None if value is None or not str(value).strip() else as_text(value) for value in values]


def name_of(value: object) -> str:
    """The value as text without outer spaces: the number 1.0 is the name 1, for JSON writes either."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def day(value: object) -> str:
    """The ISO date of what is, or reads as, an ISO date or time; other text as it is."""
    try:
        return datetime.datetime.fromisoformat(str(value)).date().isoformat()
    except ValueError:
        return str(value)


def refuse(values: pd.Series, wrong: Callable[[object], bool], where: str, what: str) -> None:
    """Raise ValueError if any value is `wrong`: `where` it stands, `what` it is, and the first rows by their index."""
    rows = [row for row, value in values.items() if wrong(value)]
    if rows:
        named = ", ".join(map(str, rows[:ROWS_NAMED])) + (", ..." if len(rows) > ROWS_NAMED else "")
        raise InputError(f"{where}: {what} ({values.index.name} {named}): fix or delete them")


def _half_surrogate(text: object) -> bool:
    try:
        str(text).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
