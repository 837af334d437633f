"""What a data root remembers of its runs, below `<data_root>/.fedtext/`.

- `nodes/<node>.json`: what the node's outputs were made from, written after the last of them: the commit marker.
- `releases.jsonl`: every query that the private data here ever answered (fedtext.privacy.history).
- `last_run.json`: the nodes of the run that was finished last, those that were up to date among them.
- `lock`: held by the one run that may write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote

from pydantic import BaseModel, ConfigDict, ValidationError

from fedtext.resuming.fingerprint import text_digest
from fedtext.resuming.made_with import MadeWith
from fedtext.system.atomic import write_text
from fedtext.system.errors import FedtextError
from fedtext.system.folders import make_own_folder
from fedtext.system.locks import LockHeldError, locked

STORE = ".fedtext"
LONGEST_NAME = 180


class DataRootBusyError(FedtextError):
    """Another run writes to the same data root."""


class NodeRecord(BaseModel):
    """How a node's outputs came to be.

    `parts` are the digests of all that they depend on, by name; `outputs` the digests of what was saved; `files` what
    the file system says of the saved files, so that they need not be read again. `read` names the fields of parameters
    that the node read, on which alone their parts stand; None if on all. `seconds` is the wall time of the run that
    made them, kept here and not among the results, which must come out the same however long they take; None if
    outputs that were found were taken over. `made_with` are the values behind the digests, those of all earlier nodes
    too; None in a record of an earlier version.
    """

    model_config = ConfigDict(frozen=True)

    parts: dict[str, str]
    outputs: dict[str, str]
    files: dict[str, str]
    read: tuple[str, ...] | None = None
    seconds: float | None = None
    made_with: MadeWith | None = None


class Store:
    """The records of one data root."""

    def __init__(self, data_root: Path) -> None:
        self.root = data_root / STORE

    @classmethod
    @contextmanager
    def locked(cls, data_root: Path) -> Iterator[Self]:
        """The store, for one run at a time; the lock goes when the process does, however it ends.

        Raises:
            DataRootBusyError: another run holds it.
        """
        store = cls(data_root)
        make_own_folder(store.root)  # digests and sizes of private data
        try:
            lock = locked(store.root / "lock", wait=False)
        except LockHeldError:
            raise DataRootBusyError(
                f"another run is writing to {data_root}: wait for it, or give this one its own directory with "
                "--params data_root=DIR"
            ) from None
        with lock:
            yield store

    def node(self, name: str) -> NodeRecord | None:
        """The node's record, or None if there is none that can be read."""
        try:
            return NodeRecord.model_validate_json(self._node_file(name).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def commit(self, name: str, record: NodeRecord) -> None:
        """Records the node as done."""
        write_text(self._node_file(name), record.model_dump_json(indent=1))

    def seconds(self) -> dict[str, float]:
        """Wall time of every node that ran here, by name, whichever run it was."""
        return {name: record.seconds for name, record in self._records() if record.seconds is not None}

    def makers(self) -> dict[str, list[NodeRecord]]:
        """Records of the nodes that have made each data set here, by its name, whichever run it was."""
        found: dict[str, list[NodeRecord]] = {}
        for _, record in self._records():
            for output in record.outputs:
                found.setdefault(output, []).append(record)
        return found

    def _records(self) -> Iterator[tuple[str, NodeRecord]]:
        names = sorted(unquote(file.stem) for file in (self.root / "nodes").glob("*.json"))
        return ((name, record) for name in names if (record := self.node(name)) is not None)

    def note_run(self, nodes: Iterable[str]) -> None:
        """Records a finished run: all nodes it was made of."""
        write_text(self.root / "last_run.json", json.dumps(sorted(nodes), indent=1))

    def last_run(self) -> frozenset[str]:
        """Nodes of the run that was finished last; none if none was."""
        path = self.root / "last_run.json"
        return frozenset(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else frozenset()

    def _node_file(self, name: str) -> Path:
        plain = quote(name, safe="")
        return self.root / "nodes" / f"{plain if len(plain) <= LONGEST_NAME else text_digest(name)}.json"
