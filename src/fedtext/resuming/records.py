"""Records of a data root's runs, below `<data_root>/.fedtext/`.

- `nodes/<node>.json`: what the node's outputs were made from, written after the last of them: the commit marker.
- `releases.jsonl`: every release from the private data here (fedtext.privacy.history).
- `registered_as`: by which name the registry knows these people, as a digest (there too).
- `pieces/<node>/`: what a node that was killed, or is at work, has finished (fedtext.system.finished_pieces).
- `last_run.json`: the nodes of the run that was finished last, those that were up to date among them.
- `lock`: held by the one run that may write; `lock_holder.json` says which (fedtext.system.held_locks).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote

from pydantic import BaseModel, ConfigDict, ValidationError

from fedtext.privacy.history import LOCK
from fedtext.resuming.fingerprint import text_digest
from fedtext.resuming.made_with import MadeWith
from fedtext.system.atomic import write_text
from fedtext.system.errors import FedtextError
from fedtext.system.folders import make_own_folder
from fedtext.system.held_locks import holder_of, holding
from fedtext.system.locks import LockHeldError

STORE = ".fedtext"
LONGEST_NAME = 180


class DataRootBusyError(FedtextError):
    """Another run writes to the same data root."""


class NodeRecord(BaseModel):
    """How a node's outputs were made.

    `parts` are the digests of all that the outputs depend on, by name. `outputs` are the digests of what was saved.
    `files` are the file system's metadata of the saved files, so that they need not be read again. `read` names the
    parameter fields that the node read, on which alone its parts depend; None if on all. `seconds` is the wall time of
    the run that made the outputs. It is kept here and not among the results, which must not depend on it; None if
    existing outputs were accepted. `made_with` are the values behind the digests, including those of all earlier nodes;
    None in a record of an earlier version. `receipts` are those of the releases that the outputs hold.
    """

    model_config = ConfigDict(frozen=True)

    parts: dict[str, str]
    outputs: dict[str, str]
    files: dict[str, str]
    read: tuple[str, ...] | None = None
    seconds: float | None = None
    made_with: MadeWith | None = None
    receipts: tuple[str, ...] = ()


class Store:
    """The records of one data root."""

    def __init__(self, data_root: Path) -> None:
        self.root = data_root / STORE

    @classmethod
    @contextmanager
    def locked(cls, data_root: Path) -> Iterator[Self]:
        """Yield the store, for one run at a time; the system releases the lock when the process ends.

        Raises:
            DataRootBusyError: Another run holds the lock.
        """
        store = cls(data_root)
        make_own_folder(store.root)  # digests and sizes of private data
        with ExitStack() as stack:
            try:
                stack.enter_context(holding(store.root / LOCK))
            except LockHeldError:
                who = holder_of(store.root / LOCK)
                raise DataRootBusyError(
                    f"another run is writing to {data_root}{f' ({who})' if who else ''}: wait for it, or give this one "
                    "its own directory with --params data_root=DIR",
                    code="data-root-busy",
                    parameter="data_root",
                    value=str(data_root),
                ) from None
            yield store

    def node(self, name: str) -> NodeRecord | None:
        """Return the node's record, or None if there is none that can be read."""
        try:
            return NodeRecord.model_validate_json(self._node_file(name).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def commit(self, name: str, record: NodeRecord) -> None:
        """Record the node as done."""
        write_text(self._node_file(name), record.model_dump_json(indent=1))

    def pieces_of(self, name: str, recipe: str) -> Path:
        """Return the folder of the node's finished pieces, of this recipe alone: those of another one are removed."""
        own = self._pieces(name)
        for other in own.iterdir() if own.exists() else ():
            if other.name != recipe:
                shutil.rmtree(other, ignore_errors=True)
        return own / recipe

    def drop_pieces(self, name: str) -> None:
        """Remove the node's finished pieces: its outputs are saved."""
        shutil.rmtree(self._pieces(name), ignore_errors=True)

    def seconds(self) -> dict[str, float]:
        """Return the wall time of every node by name, from whichever run made its outputs."""
        return {name: record.seconds for name, record in self._records() if record.seconds is not None}

    def makers(self) -> dict[str, list[NodeRecord]]:
        """Return the records of the nodes that made each data set, by its name, in whichever run."""
        found: dict[str, list[NodeRecord]] = {}
        for _, record in self._records():
            for output in record.outputs:
                found.setdefault(output, []).append(record)
        return found

    def _records(self) -> Iterator[tuple[str, NodeRecord]]:
        names = sorted(unquote(file.stem) for file in (self.root / "nodes").glob("*.json"))
        return ((name, record) for name in names if (record := self.node(name)) is not None)

    def record_run(self, nodes: Iterable[str]) -> None:
        """Record the nodes of a finished run."""
        write_text(self.root / "last_run.json", json.dumps(sorted(nodes), indent=1))

    def last_run(self) -> frozenset[str]:
        """Return the nodes of the run that finished last; empty if there was none."""
        path = self.root / "last_run.json"
        return frozenset(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else frozenset()

    def receipts(self) -> frozenset[str]:
        """Return the receipts of the releases that the results of the run that finished last hold."""
        records = filter(None, map(self.node, self.last_run()))
        return frozenset(receipt for record in records for receipt in record.receipts)

    def _node_file(self, name: str) -> Path:
        return self.root / "nodes" / f"{_file_name(name)}.json"

    def _pieces(self, name: str) -> Path:
        return self.root / "pieces" / _file_name(name)


def _file_name(name: str) -> str:
    plain = quote(name, safe="")
    return plain if len(plain) <= LONGEST_NAME else text_digest(name)
