"""Facts for reports to read: of the run that writes one, and of all releases of its data root.

- What a report says of the run that wrote it.
- The releases that a data root has ever made, for a privacy report to read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset

from fedtext.datasets.atomic import StorageError
from fedtext.privacy.history import History
from fedtext.privacy.registry import Registry
from fedtext.privacy.spending import Spent


class RunFactsDataset(AbstractDataset[Any, Any]):
    """What a report says of how it was made, which the run tells; empty until then.

    `command`, `date` and `version` are those of the run that writes it. `models`, `readings` (how they read long
    texts), `parameters` and `unrecorded` are of the nodes that made what it reports on, whichever run they were part
    of. What is made of all this depends on the latter alone: a repeated run on another day changes nothing, and the
    report keeps the day and the command of the run that wrote it.

    Args:
        metadata: Ignored by Kedro.
    """

    def __init__(self, *, metadata: dict[str, Any] | None = None) -> None:
        self._facts: dict[str, Any] = {}
        self.metadata = metadata

    def tell(self, facts: Mapping[str, Any]) -> None:
        """Takes more of what is known; what was told before under the same name is forgotten."""
        self._facts |= facts

    def identity(self) -> str:
        """What a result depends on."""
        lasting = {name: self._facts.get(name) for name in ("models", "readings", "parameters", "unrecorded")}
        return json.dumps(lasting, sort_keys=True, default=str)

    def load(self) -> dict[str, Any]:
        """The facts."""
        return dict(self._facts)

    def save(self, data: Any) -> NoReturn:
        """Refused: a run tells what it is."""
        raise StorageError("run_facts is read only: no node makes it")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {}


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
