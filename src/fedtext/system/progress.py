"""Progress bars, shown for anything longer than a few seconds; without a terminal, a line a minute.

They are drawn on standard error, also while its descriptor is redirected for everything else.
"""

from __future__ import annotations

import io
import os
import sys
import time
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


EVERY = 60.0  # seconds between two lines


def progress(items: Iterable[T], label: str, *, unit: str = "it", total: int | None = None) -> Iterable[T]:
    """Return `items` behind a tqdm bar named `label`, which vanishes with the last of them.

    Bars are for terminals; elsewhere, as in a file, a line a minute says which share is done and how long the rest will
    take. `FEDTEXT_PROGRESS=0` turns both off, `FEDTEXT_PROGRESS=1` turns bars on everywhere. Work of a single step has
    neither, for it would stand at 0% all the time.
    """
    from tqdm.auto import tqdm

    steps = total if total is not None else len(items) if isinstance(items, Sized) else None
    if steps != 1 and os.environ.get("FEDTEXT_PROGRESS") is None and not Terminal().isatty():
        return _with_lines(items, label, steps)
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


def _with_lines(items: Iterable[T], label: str, steps: int | None) -> Iterator[T]:
    """Yield `items`, and show a line a minute. It has shares and no counts, which may be of private data."""
    began = last = time.monotonic()
    for done, item in enumerate(items):
        if (now := time.monotonic()) - last >= EVERY:
            last = now
            Terminal().write(f"{label}: {_so_far(done, steps, now - began)}\n")
        yield item


def _so_far(done: int, steps: int | None, seconds: float) -> str:
    if not done or not steps:
        return f"at work for {_in_minutes(seconds)}"
    return f"{done / steps:.0%} done, about {_in_minutes(seconds / done * (steps - done))} left"


def _in_minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _wanted() -> bool:
    setting = os.environ.get("FEDTEXT_PROGRESS")
    return setting != "0" and (setting == "1" or Terminal().isatty())


@contextmanager
def without_library_warnings() -> Iterator[None]:
    """Keep transformers from its own report on a model's tensors, where the caller says what is wrong."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(level)


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
