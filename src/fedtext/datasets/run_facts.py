"""Facts for reports: of the run that writes a report, and of all releases of its data root."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset

from fedtext.datasets.atomic import StorageError
from fedtext.privacy.history import History
from fedtext.privacy.spending import Spent
from fedtext.privacy.team_registry import registry_at


class RunFactsDataset(AbstractDataset[Any, Any]):
    """Facts about how a report was made, given by the run; empty until then.

    `command`, `date` and `version` are those of the run that writes the report. `models`, `readings` (how they read
    long texts), `parameters` and `unrecorded` are of the nodes that made the report's inputs, in whichever run. The
    report depends on the latter alone: a repeated run on another day changes nothing, and the report keeps the day and
    the command of the run that wrote it.

    Args:
        metadata: Ignored by Kedro.
    """

    def __init__(self, *, metadata: dict[str, Any] | None = None) -> None:
        self._facts: dict[str, Any] = {}
        self.metadata = metadata

    def add_facts(self, facts: Mapping[str, Any]) -> None:
        """Update the facts; a fact replaces an earlier one of the same name."""
        self._facts |= facts

    def identity(self) -> str:
        """Return what a result depends on."""
        lasting = {name: self._facts.get(name) for name in ("models", "readings", "parameters", "unrecorded")}
        return json.dumps(lasting, sort_keys=True, default=str)

    def load(self) -> dict[str, Any]:
        """Return the facts."""
        return dict(self._facts)

    def save(self, data: Any) -> NoReturn:
        """Raise an error: a run gives its facts by `add_facts`."""
        raise StorageError("run_facts is read only: no node makes it", code="facts-are-read-only")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {}


class ReleaseHistoryDataset(AbstractDataset[Any, tuple[Spent, ...]]):
    """All releases from the private data below `filepath`, whichever run and parameters made them; read only.

    Releases from the same people's text in other data roots are included, without the name of the data root.

    Args:
        filepath: The data root: `${data_root:}`.
        history: A team's database: `${parameter:privacy.history}`; None for the user's registry.
        metadata: Ignored by Kedro.
    """

    def __init__(self, *, filepath: str, history: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        self._filepath, self._history = Path(filepath), history
        self.metadata = metadata

    def shaping(self) -> dict[str, str]:
        """Return the catalog settings that shape the content: none, for where it is recorded changes nothing."""
        return {}

    def load(self) -> tuple[Spent, ...]:
        """Return the releases in the order in which they were made."""
        entries = History(self._filepath, around=self._filepath, registry=registry_at(self._history)).entries()
        other = {"elsewhere": "another data root"}
        return tuple(entry.model_copy(update=other) if entry.elsewhere else entry for entry in entries)

    def save(self, data: Any) -> NoReturn:
        """Raise an error: the runner writes the history."""
        raise StorageError(
            f"the release history of {self._filepath} is written by the runner, not by a node",
            code="history-is-read-only",
        )

    def identity(self) -> str:
        """Return the history itself, so that a report is written again when the history has grown."""
        return "\n".join(entry.model_dump_json() for entry in self.load())

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
