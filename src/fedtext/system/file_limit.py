"""The operating system's limit on file sizes, used to forbid this process all writes to files.

POSIX has a limit on the size of the files that a process may make (`RLIMIT_FSIZE`). At zero, every write to a regular
file fails with `EFBIG`, whichever library tries, in Python, C++ or Rust. Pipes, terminals and sockets are not affected.
Empty files, folders and links can still be made. Text that waits in a buffer is written later.
"""

from __future__ import annotations

import errno
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from types import FrameType

from fedtext.system.refusal import RunRefusedError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

ENFORCED = resource is not None
# What libraries in C++, Rust and SQL say of a write that was refused.
REFUSED = ("File too large", "file write failed", "disk I/O error", "database or disk is full")


class _Limit:
    """The process's limit: how many active blocks forbid writing and how many allow it, over all threads."""

    def __init__(self) -> None:
        self._lock, self._forbidding, self._allowing = Lock(), 0, 0
        self._usual = (0, 0)

    @contextmanager
    def changed(self, *, forbidding: int = 0, allowing: int = 0) -> Iterator[None]:
        self._count(forbidding, allowing)
        try:
            yield
        finally:
            self._count(-forbidding, -allowing)

    def _count(self, forbidding: int, allowing: int) -> None:
        with self._lock:
            was_set = self._forbidding > 0
            self._forbidding += forbidding
            self._allowing += allowing
            if not was_set and self._forbidding == 0:
                return
            if not was_set:
                self._usual = resource.getrlimit(resource.RLIMIT_FSIZE)
            forbidden = self._forbidding > 0 and self._allowing == 0
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, self._usual[1]) if forbidden else self._usual)


_limit = _Limit()


@dataclass
class RefusedWrites:
    """Flag that is set when a write was refused, also if a library hid the error; only the main thread sets it."""

    seen: bool = False


def validate_file_size_limit(private: str) -> None:
    """Raise an error if this system has no such limit, so that `private` must not be read.

    Raises:
        RunRefusedError: The system has no limit on file sizes.
    """
    if not ENFORCED:
        raise RunRefusedError(
            f"{private} is private, and this operating system ({sys.platform}) cannot refuse writes to files while it "
            "is read: run on Linux or macOS (on Windows: in WSL)",
            code="writes-cannot-be-refused",
            value=sys.platform,
        )


@contextmanager
def no_file_written() -> Iterator[RefusedWrites]:
    """Forbid this process to extend or change any file until the end of the block.

    Files that are already mapped into memory can still be changed. Python caches no compiled code meanwhile.

    Raises:
        RunRefusedError: The system has no limit on file sizes.
    """
    validate_file_size_limit("what a node reads")
    refused, keeps = RefusedWrites(), sys.dont_write_bytecode
    with _limit.changed(forbidding=1), _noticed(refused):
        sys.dont_write_bytecode = True
        try:
            yield refused
        finally:
            sys.dont_write_bytecode = keeps


@contextmanager
def _noticed(refused: RefusedWrites) -> Iterator[None]:
    """Record the signal that the system sends with every refused write, and that Python ignores."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        refused.seen = True

    before = signal.signal(signal.SIGXFSZ, note)
    signal.siginterrupt(signal.SIGXFSZ, False)
    try:
        yield
    finally:
        signal.signal(signal.SIGXFSZ, before)


@contextmanager
def files_written() -> Iterator[None]:
    """Let this package write its own files inside a `no_file_written` block."""
    with _limit.changed(allowing=1):
        yield


def is_write_refused(error: BaseException | None) -> bool:
    """Return whether `error` was caused by a refused write.

    Python's errors carry an error number; those of C++ and Rust only mention it in their message.
    """
    while error is not None:
        if getattr(error, "errno", None) == errno.EFBIG or any(words in str(error) for words in REFUSED):
            return True
        error = error.__cause__ or error.__context__
    return False
