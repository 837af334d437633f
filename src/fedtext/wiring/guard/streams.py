"""Hidden standard streams while private data are read: nothing that is written to them is shown.

Python's own output is dropped. Output that goes past Python's streams, to the descriptors of standard output and error
or to a copy of them, ends in a pipe. On standard output it is a fault of the node; on standard error libraries warn.
"""

from __future__ import annotations

import ctypes
import io
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import NamedTuple, TextIO

from fedtext.system.open_files import ERROR, OUTPUT, open_descriptors, writes
from fedtext.system.progress import kept_terminal

MOST = 1 << 16  # bytes that a pipe holds
_C = ctypes.CDLL(None)  # the C library of this process


class HiddenOutput(io.TextIOBase):
    """A stream in place of another: it drops output while `hide` returns a function, else it passes it on.

    A log handler that is made while a node runs keeps this stream for later.
    """

    def __init__(self, shown: TextIO, hide: Callable[[], Callable[[], None] | None]) -> None:
        self._shown, self._hide = shown, hide

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Drop `text`, or write it to the other stream."""
        if (hide := self._hide()) is None:
            return self._shown.write(text)
        hide()
        return len(text)

    def flush(self) -> None:
        """Flush the stream that this one replaces."""
        self._shown.flush()


@contextmanager
def hidden_prints(hide: Callable[[], Callable[[], None] | None]) -> Iterator[None]:
    """Replace `sys.stdout` and `sys.stderr` by a `HiddenOutput` until the end of the block."""
    with redirect_stdout(HiddenOutput(sys.stdout, hide)), redirect_stderr(HiddenOutput(sys.stderr, hide)):
        yield


class CapturedOutput(NamedTuple):
    """Output to the descriptors of standard output and of standard error, at most `MOST` bytes of each."""

    output: bytes
    error: bytes


@contextmanager
def hidden_descriptors() -> Iterator[Callable[[], CapturedOutput]]:
    """Replace the descriptors of standard output and error, and all that lead to the same place, by two pipes.

    Yields a function that returns what was written to them since its last call. Progress bars are still shown
    (`fedtext.system.progress`).
    """
    errors = {ERROR} & open_descriptors()
    outputs = (_copies(OUTPUT) | _copies(ERROR)) - errors
    with ExitStack() as stack:
        stack.enter_context(kept_terminal())
        read_output, read_error = (stack.enter_context(_into_a_pipe(one)) for one in (outputs, errors))

        def written() -> CapturedOutput:
            _flush()
            return CapturedOutput(read_output(), read_error())

        yield written


@contextmanager
def _into_a_pipe(descriptors: Collection[int]) -> Iterator[Callable[[], bytes]]:
    """Redirect `descriptors` into a pipe until the end of the block; yield a function that reads what it holds."""
    _flush()
    saved = {one: (os.dup(one), os.get_inheritable(one)) for one in descriptors}
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)  # the pipe is not read while a node runs: a full one must not stop it

    def read() -> bytes:
        with suppress(BlockingIOError):
            return os.read(reader, MOST)
        return b""

    for one, (_, inheritable) in saved.items():
        os.dup2(writer, one, inheritable)
    os.close(writer)
    try:
        yield read
    finally:
        _flush()
        for one, (copy, inheritable) in saved.items():
            os.dup2(copy, one, inheritable)
            os.close(copy)
        os.close(reader)


def _copies(descriptor: int) -> set[int]:
    """Return `descriptor`, if it is open, and all others that can write to the same terminal, pipe or socket.

    A file is left out: files cannot be written while private data are read (`fedtext.system.file_limit`).
    """
    known = open_descriptors()
    if descriptor not in known:
        return set()
    place = os.fstat(descriptor)
    if stat.S_ISREG(place.st_mode) or os.path.samestat(place, os.stat(os.devnull)):
        return {descriptor}
    return {one for one in known if os.path.samestat(os.fstat(one), place) and writes(one)}


def _flush() -> None:
    """Flush the buffers of Python's streams and of C's."""
    for stream in (sys.__stdout__, sys.__stderr__):
        with suppress(OSError, ValueError):  # closed, or a full pipe
            if stream is not None:
                stream.flush()
    _C.fflush(None)
