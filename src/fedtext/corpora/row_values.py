"""Values of a table's rows: names of rows, ids and labels as text, dates, and the checks that every value passes.

Broken Unicode is refused. Messages name rows as a person finds them, and quote no value.
"""

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
from fedtext.system.missing import is_blank, nullable
from fedtext.system.surrogates import has_lone_surrogate

ROWS_NAMED = 5


def record_table(
    owners: Sequence[str], held: Mapping[str, Sequence[str | None]], path: Path, rows: pd.Index
) -> pd.DataFrame:
    """Return the records of `owners` and their values (`text`, `label`, `date`), read from the `rows` of `path`.

    Raises:
        ValueError: A value is no Unicode text.
    """
    records = pd.DataFrame({"client_id": owners, **held}, columns=list(RECORD_COLUMNS), index=rows, dtype=object)
    validate_unicode({column: records[column].tolist() for column in RECORD_COLUMNS}, path, rows)
    return records.reset_index(drop=True)


def validate_unicode(columns: Mapping[str, Sequence[str | None]], path: Path, rows: pd.Index) -> None:
    """Raise ValueError if a value of the `columns` of the file `path` is no Unicode text."""
    for column, values in columns.items():
        held: pd.Series = pd.Series(list(values), rows, dtype=object)
        validate_values(held, _is_no_unicode, f"{path}, {column}", "half a surrogate pair, not Unicode text")


def digest_names(*columns: Sequence[str | None]) -> list[str]:
    """Return a name for every row that is a client of its own: a digest of its content, with equal rows numbered."""
    rows = (json.dumps(row).encode() for row in zip(*columns, strict=True))
    digests = [hashlib.sha256(row).hexdigest()[:20] for row in rows]
    seen: Counter[str] = Counter()
    names = []
    for one in digests:
        seen[one] += 1
        names.append(one if seen[one] == 1 else f"{one}-{seen[one]}")
    return names


def optional(table: pd.DataFrame, column: str, as_text: Callable[[object], str]) -> list[str | None]:
    """Return the column's values as text, with None for missing ones and for a missing column."""
    values = nullable(table[column]) if column in table.columns else [None] * len(table)
    return [None if value is None or is_blank(str(value)) else as_text(value) for value in values]


def name_of(value: object) -> str:
    """Return the value as text without outer spaces; the number 1.0 becomes 1, for JSON writes either."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def day(value: object) -> str:
    """Return the ISO date of an ISO date or time; other text as it is."""
    try:
        return datetime.datetime.fromisoformat(str(value)).date().isoformat()
    except ValueError:
        return str(value)


def validate_values(
    values: pd.Series, wrong: Callable[[object], bool], where: str, what: str, remedy: str | None = None
) -> None:
    """Raise ValueError if any value is `wrong`; the message has the place `where`, the fault `what` and the rows.

    Its `remedy` is to fix or delete them unless another is given.
    """
    rows = [row for row, value in values.items() if wrong(value)]
    if rows:
        raise InputError(
            f"{where}: {what} ({rows_named(rows, str(values.index.name))}): {remedy or f'fix or delete {_them(rows)}'}",
            code="unusable-rows",
            value=what,
        )


def rows_named(rows: Sequence[Any], counted: str) -> str:
    """Return the first of `rows` in words, by what is `counted`, such as `row` or `row of the sheet`."""
    many = len(rows) > 1
    noun, _, how = counted.partition(" ")
    named = ", ".join(map(str, rows[:ROWS_NAMED])) + (", ..." if len(rows) > ROWS_NAMED else "")
    return f"{noun}{'s' if many else ''} {named}" + (f" {how}" if how else "")


def _them(rows: Sequence[Any]) -> str:
    return "them" if len(rows) > 1 else "it"


def _is_no_unicode(value: object) -> bool:
    return has_lone_surrogate(str(value))
