"""The open file descriptors of this process."""

from __future__ import annotations

import os
from contextlib import suppress

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

OUTPUT, ERROR = 1, 2


def open_descriptors() -> set[int]:
    """All of them."""
    try:
        names = {int(name) for name in os.listdir("/dev/fd")}
    except OSError:  # Windows
        names = {OUTPUT, ERROR}
    found = set()
    for one in names:
        with suppress(OSError):  # the one that listed them is closed by now
            os.fstat(one)
            found.add(one)
    return found


def writes(descriptor: int) -> bool:
    """Whether it was opened for writing; true where the system does not tell."""
    return fcntl is None or fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
