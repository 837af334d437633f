"""The releases that a data root has ever made, for a privacy report to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset

from fedtext.datasets.errors import StorageError
from fedtext.privacy.history import History
from fedtext.privacy.registry import Registry
from fedtext.privacy.spending import Spent


class ReleaseHistoryDataset(AbstractDataset[Any, tuple[Spent, ...]]):
    """Every query answered from the private data below `filepath`, whichever run and parameters made it; read only.

    With it come the answers from the same people's text in other data roots; a report need not say in which.

    Args:
        filepath: The data root: `${data_root:}`.
        metadata: Ignored by Kedro.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def load(self) -> tuple[Spent, ...]:
        """In the order in which they were made."""
        entries = History(self._filepath, around=self._filepath, registry=Registry()).entries()
        other = {"elsewhere": "another data root"}
        return tuple(entry.model_copy(update=other) if entry.elsewhere else entry for entry in entries)

    def save(self, data: Any) -> NoReturn:
        """Refused: the runner writes the history."""
        raise StorageError(f"the release history of {self._filepath} is written by the runner, not by a node")

    def identity(self) -> str:
        """The history itself: a report is written again when it has grown."""
        return "\n".join(entry.model_dump_json() for entry in self.load())

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
