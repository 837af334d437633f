"""Results of the pieces of a long computation, kept as each is finished: a killed node goes on from them.

The runner gives every node that reads no private data a folder of its own, named by the digest of all that the node's
outputs depend on, and removes it when the outputs are saved. Who computes piece by piece keeps results there, in a file
that a digest of the computation's own arguments names:

    finished = finished_pieces(model, prompts, seed)
    for number, piece in enumerate(pieces):
        if (result := finished.get(number)) is None:
            finished.keep(number, result := compute(piece))

Without a folder, as in a notebook, nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import Any

from fedtext.system.folders import make_own_folder

_folder: ContextVar[Path | None] = ContextVar("finished pieces", default=None)


@contextmanager
def keeping_pieces(folder: Path | None) -> Iterator[None]:
    """Keep finished pieces in `folder` for the block; None: keep none."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


class FinishedPieces:
    """The results of a computation's finished pieces, by number: values of JSON, a line each.

    Every result is synced to disk before the next one is kept. A line that a kill cut off is dropped. Threads may keep
    results side by side.

    Args:
        file: Where results are kept; None: they are not.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file, self._lock = file, Lock()
        self._known = {} if file is None else _whole_lines(file)

    def get(self, number: int) -> Any:
        """Return the result of a piece; None if it is not finished."""
        return self._known.get(number)

    def keep(self, number: int, result: Any) -> None:
        """Keep the result of a piece."""
        if self._file is None:
            return
        line = json.dumps([number, result]) + "\n"
        with self._lock, self._file.open("a", encoding="ascii") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())


def finished_pieces(*arguments: object) -> FinishedPieces:
    """Return the finished pieces of the computation with these arguments, in the folder in force.

    The arguments are told apart by their `repr`.
    """
    folder = _folder.get()
    if folder is None:
        return FinishedPieces()
    make_own_folder(folder)
    digest = hashlib.sha256()
    for argument in arguments:
        digest.update(hashlib.sha256(repr(argument).encode("utf-8", "surrogatepass")).digest())
    return FinishedPieces(folder / f"{digest.hexdigest()}.jsonl")


def _whole_lines(file: Path) -> dict[int, Any]:
    """Return the results in the file, and cut off what a kill left of a line."""
    if not file.exists():
        return {}
    known: dict[int, Any] = {}
    whole = 0
    for line in file.read_bytes().splitlines(keepends=True):
        try:
            number, result = json.loads(line)
        except ValueError:
            break
        if not line.endswith(b"\n"):
            break
        known[number] = result
        whole += len(line)
    os.truncate(file, whole)
    return known
