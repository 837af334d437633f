"""Pieces of work by the threads of a pool, in their order; numpy's large arrays on all cores (torch's: cores.py)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def arrays_over_cores(work: Callable[[T], R], pieces: Sequence[T]) -> Iterator[R]:
    """`work` of each piece, in their order, on all cores: for numpy's work on large arrays, which runs side by side.

    Results of two pieces a core are held, so pieces should be small beside memory.
    """
    workers = min(cores_here(), len(pieces))
    if workers < 2:
        return map(work, pieces)
    return in_order(ThreadPoolExecutor(workers, "arrays"), work, pieces, at_once=2 * workers)


def cores_here() -> int:
    """Cores that this process may use; where the system does not tell, those that there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(pool: ThreadPoolExecutor, work: Callable[[T], R], pieces: Iterable[T], at_once: int) -> Iterator[R]:
    """`work` of each piece by `pool`, which is shut down after it; `at_once` pieces are begun before one is asked for.

    What fails is raised at its turn; pieces that were not begun by then are left.
    """
    begun: deque[Future[R]] = deque()
    try:
        for piece in pieces:
            begun.append(pool.submit(work, piece))
            if len(begun) > at_once:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
