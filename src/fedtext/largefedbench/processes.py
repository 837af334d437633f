"""Independent tasks of a build, one after the other or over several processes: the same results in the same order."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")
COLLECTIONS = (20_000, 20, 50)  # new objects, and collections of the younger generation, before the next one


class Run(Protocol):
    """`map` of a function that can be pickled."""

    def __call__(self, work: Callable[[T], R], tasks: Iterable[T], /) -> Iterator[R]:
        """`work` of every task, in order."""
        ...


@contextmanager
def side_by_side(processes: int) -> Iterator[Run]:
    """A `map` over so many processes; in this one, if they are one."""
    if processes == 1:
        with _few_collections():
            yield map
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_start_worker) as pool:
        yield pool.map


@contextmanager
def _few_collections() -> Iterator[None]:
    """Fewer searches for cyclic garbage: pages hold none, and libraries are walked through each time."""
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def _start_worker() -> None:
    """A worker whose build was killed ends at once, lest it write beside the build that follows."""
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    Thread(target=_outlive_nobody, daemon=True).start()


def _outlive_nobody() -> None:
    build = parent_process()
    assert build is not None  # this is a worker
    build.join()
    os._exit(1)
