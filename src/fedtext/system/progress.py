"""One face for progress bars: shown for anything longer than a few seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], label: str, *, unit: str = "it", total: int | None = None) -> Iterable[T]:
    """`items` behind a tqdm bar named `label`; `FEDTEXT_PROGRESS=0` turns every bar off."""
    from tqdm.auto import tqdm

    bar: Iterable[T] = tqdm(
        items,
        desc=label,
        unit=unit,
        total=total,
        disable=os.environ.get("FEDTEXT_PROGRESS") == "0",
        mininterval=1.0,
        dynamic_ncols=True,
        file=sys.__stderr__,  # shown where a node's own messages are not (fedtext.wiring.guard): it tells counts alone
    )
    return bar


@contextmanager
def without_library_bars() -> Iterator[None]:
    """Keeps transformers from drawing its own bars, such as one for every model it loads."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
