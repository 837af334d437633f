"""The strings of private inputs, whatever holds them: tables, lists, dicts and what is made of these."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from fedtext.privacy.disclosure_control import MIN_UNITS

TELLING = 8  # characters of an id, a label, or a text that does not stand in a column of texts
NAME = re.compile(r"[\w.-]{1,23}|[A-Za-z0-9_.-]{24,64}")  # of a field or a category: one word, and no text
CATEGORY = 24  # characters: what is shorter names a category, if many clients have it
NO_STRINGS = (int, float, bool, type(None))


class PrivateStrings(NamedTuple):
    """What the strings of private inputs are.

    Attributes:
        texts: The strings of columns and fields named `text`; of others those that are no plain names.
        ids: Client ids that are no plain words.
        rare: Labels of few clients that are no plain words.
        common: Labels and short categories of many clients, which identify none of them.
    """

    texts: set[str]
    ids: set[str]
    rare: set[str]
    common: set[str]


def private_strings(values: Collection[Any]) -> PrivateStrings:
    """Return the strings of the private inputs `values`."""
    tables = [table for value in values if (table := _table(value)) is not None]
    rare = {label for table in tables if {"label", "client_id"} <= {*table} for label in _labels_of_few_clients(table)}
    labels = {one for table in tables if "label" in table for one in table["label"] if isinstance(one, str) and one}
    common = (labels - rare).union(*(set(_categories_of_many_clients(table)) for table in tables))
    texts, ids = set[str](), set[str]()
    for value in values:
        for column, one in strings(value):
            if column == "client_id":
                ids.add(one)
            elif column == "text" or (one not in labels and one not in common and _is_text(one)):
                texts.add(one)
    return PrivateStrings(texts, set(filter(_is_telling, ids)), set(filter(_is_telling, rare)), common)


def strings(value: Any, column: str = "") -> Iterator[tuple[str, str]]:
    """Yield the strings in a value that are not empty, with the nearest name of a column, key or field around each."""
    if isinstance(value, str):
        if value:
            yield column, value
    elif (table := _table(value)) is not None:
        yield from strings([*table.columns], "")
        yield from strings(table.index, "")
        for place, name in enumerate(table.columns):
            yield from strings(table.iloc[:, place], str(name))
    elif _is_pandas(value, "Series"):
        yield from strings(value.index, "")
        yield from strings(_array(value), column)
    elif _is_pandas(value, "Index"):
        yield from strings(_array(value), column)
    elif isinstance(value, np.ndarray):
        yield from strings(value.tolist(), column) if value.dtype.kind in "OU" else ()
    elif isinstance(value, Mapping):
        yield from strings([*value.keys()], "")
        for key, inner in value.items():
            yield from strings(inner, key if isinstance(key, str) else column)
    elif isinstance(value, BaseModel):
        yield from strings(dict(value.__dict__), column)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from strings({field.name: getattr(value, field.name, None) for field in fields(value)}, column)
    elif isinstance(value, Sequence | Set) and not isinstance(value, bytes | bytearray | memoryview | range):
        for inner in value:
            if not isinstance(inner, NO_STRINGS):
                yield from strings(inner, column)
    elif callable(convert := getattr(value, "to_pandas", None)):
        yield from strings(convert(), column)


def _is_text(one: str) -> bool:
    return len(one) >= TELLING and NAME.fullmatch(one) is None


def _is_telling(one: str) -> bool:
    return len(one) >= TELLING and not one.isalpha()


def _is_pandas(value: Any, kind: str) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, getattr(pandas, kind))


def _table(value: Any) -> Any:
    return value if _is_pandas(value, "DataFrame") else None


def _array(column: Any) -> list[Any]:
    """Return the values of a pandas column or index; none of one that holds no strings."""
    if column.dtype.kind != "O":
        return []
    return list(column.tolist() if column.dtype.name != "category" else column.unique().tolist())


def _labels_of_few_clients(table: Any) -> Iterator[str]:
    """Yield the labels that fewer clients have than an aggregate must cover."""
    clients = table.groupby("label")["client_id"].nunique()
    yield from (label for label in clients.index[clients < MIN_UNITS] if isinstance(label, str))


def _categories_of_many_clients(table: Any) -> Iterator[str]:
    """Yield the short values, of columns without a rule of their own, that as many clients have."""
    if [*table.columns].count("client_id") != 1:
        return
    for place, name in enumerate(table.columns):
        column = table.iloc[:, place]
        if name in ("text", "client_id", "label") or column.dtype.kind != "O":
            continue
        short = column.map(lambda one: isinstance(one, str) and len(one) < CATEGORY).astype(bool)
        clients = table["client_id"][short].groupby(column[short], observed=True).nunique()
        yield from clients.index[clients >= MIN_UNITS]
