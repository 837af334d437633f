"""File descriptors that are open before a block in which nothing may be written, and their buffers after it.

A refused write does not empty the buffer in front of it: Python would write it later, when writing is allowed again.
"""

from __future__ import annotations

import gc
import io
import os
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

OUTPUT, ERROR = 1, 2


def open_descriptors() -> set[int]:
    """Return all open file descriptors of this process."""
    try:
        names = {int(name) for name in os.listdir("/dev/fd")}
    except OSError:  # Windows
        names = {OUTPUT, ERROR}
    found = set()
    for one in names:
        with suppress(OSError):  # the descriptor that listed them is closed by now
            os.fstat(one)
            found.add(one)
    return found


def writes(descriptor: int) -> bool:
    """Return whether a descriptor was opened for writing; true if the system does not say."""
    return fcntl is None or fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


OF_DATABASES = (".db", ".sqlite", ".sqlite3", "-wal", "-shm", "-journal")


def write_buffers(left_out: Path) -> None:
    """Flush the buffers of all open files, except those below the folder `left_out`."""
    for file in _writers(_writable_files(left_out)):
        with suppress(OSError, ValueError):
            file.flush()


def drop_buffers(left_out: Path) -> list[str]:
    """Discard buffered writes while no file can be written, and return the names of the files that had any."""
    found, waited = _writable_files(left_out), []
    for file in _writers(found):
        try:
            file.flush()
        except (OSError, ValueError):
            waited.append(found[file.fileno()])
            _drop(file)
    return waited


def _drop(file: io.IOBase) -> None:
    """Discard what the file's buffer holds."""
    descriptor = file.fileno()
    kept, nothing = os.dup(descriptor), os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, descriptor)
        with suppress(OSError, ValueError):
            file.flush()
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)
        os.close(nothing)


def _writable_files(left_out: Path) -> dict[int, str]:
    """Return the writable descriptors of regular files with the files' names, databases left out."""
    found = {}
    for one in open_descriptors():
        with suppress(OSError):
            if stat.S_ISREG(os.fstat(one).st_mode) and writes(one):
                name = os.readlink(f"/proc/self/fd/{one}") if os.path.isdir("/proc/self/fd") else f"descriptor {one}"
                if not name.endswith(OF_DATABASES) and left_out not in Path(name).parents:
                    found[one] = name
    return found


def _writers(descriptors: Collection[int]) -> list[io.IOBase]:
    """Return Python's file objects of these descriptors that may hold buffered data, outermost first."""
    if not descriptors:
        return []
    holding: dict[type, bool] = {}  # a million objects are of a few thousand types
    found = []
    for one in gc.get_objects():
        kind = type(one)
        if kind not in holding:
            holding[kind] = issubclass(kind, io.IOBase) and not issubclass(kind, io.FileIO)
        if holding[kind] and _descriptor(one) in descriptors:
            found.append(one)
    return sorted(found, key=_place)


def _place(file: io.IOBase) -> int:
    """Return the sorting place of a file object, by which compressed files come before text and text before bytes.

    Each passes its data to the next.
    """
    if isinstance(file, io.BufferedWriter | io.BufferedRandom):
        return 2
    return 1 if isinstance(file, io.TextIOWrapper) else 0


def _descriptor(file: io.IOBase) -> int | None:
    try:
        return None if file.closed or not file.writable() else file.fileno()
    except (OSError, ValueError, AttributeError):
        return None
