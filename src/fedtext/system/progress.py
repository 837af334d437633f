"""One face for progress bars: shown for anything longer than a few seconds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

from fedtext.system.terminal import Terminal

T = TypeVar("T")


def progress(items: Iterable[T], label: str, *, unit: str = "it", total: int | None = None) -> Iterable[T]:
    """`items` behind a tqdm bar named `label`, which vanishes with the last of them.

    Bars are for terminals: `FEDTEXT_PROGRESS=0` turns them off there, `FEDTEXT_PROGRESS=1` turns them on elsewhere.
    What is done in one step has none: it would stand at 0% all the time.
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
        file=Terminal(),  # shown where a node's own messages are not (fedtext.wiring.guard): it tells counts alone
    )
    return bar


def _wanted() -> bool:
    asked = os.environ.get("FEDTEXT_PROGRESS")
    return asked != "0" and (asked == "1" or Terminal().isatty())


@contextmanager
def without_library_bars() -> Iterator[None]:
    """Keeps transformers from drawing its own bars, such as one for every model it loads or saves."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
