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
    """Interface of a `map` for functions that can be pickled."""

    def __call__(self, work: Callable[[T], R], tasks: Iterable[T], /) -> Iterator[R]:
        """Yield `work(task)` for every task, in order."""
        ...


@contextmanager
def side_by_side(processes: int) -> Iterator[Run]:
    """Yield a `map` over `processes` processes; for one, over this process."""
    if processes == 1:
        with _few_collections():
            yield map
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_start_worker) as pool:
        yield pool.map


@contextmanager
def _few_collections() -> Iterator[None]:
    """Reduce searches for cyclic garbage, which pages do not have, and which walk through all libraries."""
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def _start_worker() -> None:
    """Make a worker end as soon as its build is killed, so that it does not write beside the next build."""
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    build = parent_process()
    assert build is not None  # this is a worker
    build.join()
    os._exit(1)
