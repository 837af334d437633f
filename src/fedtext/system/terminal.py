"""Where progress is shown: standard error, also while its descriptor is replaced for everybody else."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from fedtext.system.file_limit import files_written

_kept: list[TextIO] = []


class Terminal(io.TextIOBase):
    """Standard error as it is outside of `kept_terminal`'s block; what is written is shown at once, or dropped."""

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """Shows `text`; its length."""
        if (stream := _stream()) is not None:
            with files_written():  # standard error may be a file
                stream.write(text)
                stream.flush()
        return len(text)

    def isatty(self) -> bool:
        """Whether a person looks at it."""
        return (stream := _stream()) is not None and stream.isatty()

    def fileno(self) -> int:
        """The descriptor that it is shown by."""
        if (stream := _stream()) is None:
            raise io.UnsupportedOperation("this process has no standard error")
        return stream.fileno()


@contextmanager
def kept_terminal() -> Iterator[None]:
    """Keeps standard error for `Terminal` until the end of the block, in which its descriptor may be replaced."""
    try:
        descriptor = os.dup(sys.__stderr__.fileno()) if sys.__stderr__ is not None else -1
    except (OSError, ValueError):  # it was closed
        descriptor = -1
    if descriptor < 0:
        yield
        return
    stream = os.fdopen(descriptor, "w", encoding="utf-8", errors="replace")
    _kept.append(stream)
    try:
        yield
    finally:
        _kept.remove(stream)
        stream.close()


def _stream() -> TextIO | None:
    return _kept[-1] if _kept else sys.__stderr__
