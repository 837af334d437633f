"""A test of whether a name may be made of private text in a node's tables: messages do not repeat such a name."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import unquote

PIECE = 8  # characters that a name does not share with a text by chance
COLUMNS = ("client_id", "label", "text")


class PrivateTextIndex:
    """Tests names against the tables among `values`; it is built at the first name."""

    def __init__(self, values: Collection[Any]) -> None:
        pandas = sys.modules.get("pandas")
        self._tables = [value for value in values if pandas is not None and isinstance(value, pandas.DataFrame)]
        self._words: frozenset[str] | None = None

    def __call__(self, name: str) -> bool:
        """Return whether `name`, or a part of it, is a value of a table, or shares a piece with one."""
        if self._words is None:
            self._words = frozenset(self._values())
        name = unquote(name)
        stem = os.path.splitext(name)[0]
        if self._words & {name, stem, *re.split(r"[=/ ]", stem)}:
            return True
        return any(len(word) >= PIECE and word in name for word in self._words) or (
            len(stem) >= PIECE and any(stem in word for word in self._words)
        )

    def _values(self) -> Iterator[str]:
        for table in self._tables:
            for column in COLUMNS:
                if column in table:
                    yield from (value for value in table[column] if isinstance(value, str) and value)
