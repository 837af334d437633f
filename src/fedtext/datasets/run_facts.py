"""What a report says of the run that wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from kedro.io import AbstractDataset

from fedtext.datasets.errors import StorageError


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
