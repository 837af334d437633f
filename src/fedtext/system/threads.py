"""Work on a thread pool, with results in order: numpy's large arrays on all cores (for torch see cores.py)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def arrays_over_cores(work: Callable[[T], R], pieces: Iterable[T], *, ahead: int = 2) -> Iterator[R]:
    """Yield `work(piece)` for each piece, in order, on all cores; for numpy's work on large arrays.

    Pieces are taken as they are needed, by the calling thread. `ahead` pieces or results a core are held at once, which
    should be small beside memory.
    """
    workers = threads_here()
    if isinstance(pieces, Sized):
        workers = min(workers, len(pieces))
    if workers < 2:
        return map(work, pieces)
    return in_order(ThreadPoolExecutor(workers, "arrays"), work, pieces, at_once=ahead * workers)


def threads_here() -> int:
    """Return the number of threads that this process should compute with: `OMP_NUM_THREADS`, or one a core.

    A worker of the run's engine has its share of the cores (fedtext.system.engine).
    """
    declared = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(declared), cores_here()) if declared.isdigit() and declared != "0" else cores_here()


def cores_here() -> int:
    """Return the number of cores that this process may use, or of the machine if the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(pool: ThreadPoolExecutor, work: Callable[[T], R], pieces: Iterable[T], at_once: int) -> Iterator[R]:
    """Yield `work(piece)` for each piece, in order, from `pool`, which is shut down afterwards.

    `at_once` pieces are started before the first result is taken. An error is raised when its piece is due; pieces that
    are not started by then are dropped.
    """
    try:
        yield from ordered(lambda piece: pool.submit(work, piece).result, pieces, at_once)
    finally:
        pool.shutdown(cancel_futures=True)


def ordered(start: Callable[[T], Callable[[], R]], pieces: Iterable[T], at_once: int) -> Iterator[R]:
    """Yield the result of each piece, in order, with `at_once` pieces started before the first result is taken.

    Args:
        start: Starts the work on a piece, and returns the function that waits for its result.
        pieces: Are taken as they are needed.
        at_once: Bounds how many pieces and results are held.
    """
    begun: deque[Callable[[], R]] = deque()
    for piece in pieces:
        begun.append(start(piece))
        if len(begun) > at_once:
            yield begun.popleft()()
    while begun:
        yield begun.popleft()()
