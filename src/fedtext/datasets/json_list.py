"""A JSON list, a member a line, written while it is iterated: a snapshot's export need not fit into memory."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from fedtext.system.json_members import write_members


class JSONListDataset(AbstractDataset[Iterable[Any], list[Any]]):
    """What an iterable gives, as a JSON list, saved all-or-nothing.

    Args:
        filepath: The file, UTF-8.
        metadata: Ignored by Kedro.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def load(self) -> list[Any]:
        """The whole list."""
        value: list[Any] = json.loads(self._filepath.read_text("utf-8"))
        return value

    def save(self, data: Iterable[Any]) -> None:
        """Writes the members as they come."""
        write_members(self._filepath, "[]", (json.dumps(member, ensure_ascii=False) for member in data))

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
