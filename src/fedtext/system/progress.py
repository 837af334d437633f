"""Progress bars, shown for anything longer than a few seconds.

They are drawn on standard error, also while its descriptor is redirected for everything else.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TextIO, TypeVar

from fedtext.system.file_limit import files_written

_kept: list[TextIO] = []


class Terminal(io.TextIOBase):
    """Standard error as it is outside of a `kept_terminal` block; text is shown at once, or dropped."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Show `text`, and return its length."""
        if (stream := _stream()) is not None:
            with files_written():  # standard error may be a file
                stream.write(text)
                stream.flush()
        return len(text)

    def isatty(self) -> bool:
        """Return whether a person looks at it."""
        return (stream := _stream()) is not None and stream.isatty()

    def fileno(self) -> int:
        """Return the descriptor that it is shown by."""
        if (stream := _stream()) is None:
            raise io.UnsupportedOperation("this process has no standard error")
        return stream.fileno()


@contextmanager
def kept_terminal() -> Iterator[None]:
    """Keep standard error for `Terminal` until the end of the block, in which its descriptor may be redirected."""
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


T = TypeVar("T")


def progress(items: Iterable[T], label: str, *, unit: str = "it", total: int | None = None) -> Iterable[T]:
    """Return `items` behind a tqdm bar named `label`, which vanishes with the last of them.

    Bars are for terminals: `FEDTEXT_PROGRESS=0` turns them off there, `FEDTEXT_PROGRESS=1` turns them on elsewhere.
    Work of a single step has no bar, for it would stand at 0% all the time.
    """
    from tqdm.auto import tqdm

    steps = total if total is not None else len(items) if isinstance(items, Sized) else None
    bar: Iterable[T] = tqdm(
        items,
        desc=label,
        unit=unit,
        total=total,
        disable=steps == 1 or not _wanted(),
        leave=False,
        mininterval=1.0,
        dynamic_ncols=True,
        file=Terminal(),  # shown where a node's own messages are not (fedtext.wiring.guard): it shows counts alone
    )
    return bar


def _wanted() -> bool:
    setting = os.environ.get("FEDTEXT_PROGRESS")
    return setting != "0" and (setting == "1" or Terminal().isatty())


@contextmanager
def without_library_bars() -> Iterator[None]:
    """Keep transformers from drawing its own bars, such as one for every model it loads or saves."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
