"""The operating system's own refusal to let this process write to files, whichever library tries.

POSIX has a limit on the size of the files that a process may make (`RLIMIT_FSIZE`). At zero, every write to a regular
file fails with `EFBIG`, from Python as from C++ or Rust; pipes, terminals and sockets are not concerned. What is still
possible is to make files that stay empty, and folders and links.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

ENFORCED = resource is not None
_before: list[tuple[int, int]] = []


@contextmanager
def no_file_written() -> Iterator[None]:
    """Lets no file of this process grow or change until the end of the block; does nothing where `ENFORCED` is false.

    Files that are mapped into memory already can still be changed there.
    """
    if resource is None:
        yield
        return
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    _before.append(limits)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, _before.pop())


@contextmanager
def files_written() -> Iterator[None]:
    """Lets files be written inside a `no_file_written` block, for what this package itself has to write there."""
    if resource is None or not _before:
        yield
        return
    now = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, _before[0])
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, now)


def is_write_refused(error: BaseException | None) -> bool:
    """Whether a refused write lies behind `error`: Python's errors have a number, those of C++ and Rust only say it."""
    while error is not None:
        if getattr(error, "errno", None) == errno.EFBIG or "File too large" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
