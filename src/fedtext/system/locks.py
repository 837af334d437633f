"""Locks between processes; the operating system releases a lock when the process that holds it ends."""

from __future__ import annotations

import errno
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from fedtext.system.errors import FedtextError, UnreadableFileError

NO_LOCKS = {errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK}


class LockHeldError(FedtextError):
    """Another process holds the lock, and the caller did not want to wait."""


def locked(file: Path, *, wait: bool) -> AbstractContextManager[Any]:
    """Acquire the lock of `file` for a block; the file is created if it does not exist.

    Args:
        file: Its folder must exist.
        wait: Whether to wait for the process that holds the lock.

    Raises:
        LockHeldError: Another process holds it.
        OSError: The file cannot be written, or its file system has no locks.
    """
    from filelock import FileLock, Timeout

    try:
        # A soft lock, filelock's own remedy where a file system has none, would stay when its process is killed.
        return FileLock(file, fallback_to_soft=False).acquire(timeout=-1 if wait else 0)
    except Timeout:
        raise LockHeldError(
            f"{file} is locked by another process: wait for it", code="locked", value=str(file)
        ) from None
    except OSError as error:
        if error.errno in NO_LOCKS:
            raise UnreadableFileError(
                f"the file system of {file} has no locks: choose a folder on another one",
                code="no-file-locks",
                value=str(file),
                errno=error.errno,
            ) from error
        raise
