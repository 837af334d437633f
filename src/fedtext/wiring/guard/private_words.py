"""A test of whether a name may be made of private text in a node's inputs: messages do not repeat such a name."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import unquote

from fedtext.wiring.guard.private_strings import strings

PIECE = 8  # characters that a name does not share with a text by chance
COLUMNS = ("client_id", "label", "text")  # of others, shorter strings are categories


class PrivateTextIndex:
    """Tests names against the strings in `values`, private inputs; it is built at the first name."""

    def __init__(self, values: Collection[Any]) -> None:
        self._inputs = values
        self._words: frozenset[str] | None = None

    def __call__(self, name: str) -> bool:
        """Return whether `name`, or a part of it, is a string of an input, or shares a piece with one."""
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
        for value in self._inputs:
            yield from (one for column, one in strings(value) if column in COLUMNS or len(one) >= PIECE)
