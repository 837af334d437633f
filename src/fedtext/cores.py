"""Independent pieces of work side by side on a CPU: one core a piece, as long as there are pieces.

torch spreads each small matrix product over all cores and waits at every one of them for the slower half. Whole batches
on one core each wait for nothing, which makes embedding 1.15 to 1.2 times as fast on two cores (with other things, in
benchmarks/embedding.py), and what a batch gives no longer depends on how many cores there are. Training gains nothing
from it: a small model's steps are too short for threads that take turns in Python.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
R = TypeVar("R")


class Cores:
    """Threads of work that share the cores of `device`; with one, everything happens in the calling thread."""

    def __init__(self, workers: int, pool: ThreadPoolExecutor | None) -> None:
        self.workers = workers
        self._pool = pool

    def map(self, work: Callable[[T], R], pieces: Iterable[T]) -> Iterator[R]:
        """`work` of every piece, in their order; pieces are taken as they are needed.

        What torch keeps for each thread, such as the inference mode, is for `work` to set.
        """
        if self._pool is None:
            yield from map(work, pieces)
            return
        begun: deque[Future[R]] = deque()
        for piece in pieces:
            begun.append(self._pool.submit(work, piece))
            if len(begun) > 2 * self.workers:  # one under way and one to go on with
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


@contextmanager
def shared_cores(device: torch.device, pieces: int) -> Iterator[Cores]:
    """Workers for at most `pieces` pieces at once: as many as cores on a CPU, one on any other device.

    torch's own threads are what remains to each: one where there are pieces enough.
    """
    import torch

    cores = torch.get_num_threads()
    workers = min(cores, pieces) if device.type == "cpu" else 1
    if workers < 2:
        yield Cores(1, None)
        return
    share = cores // workers
    torch.set_num_threads(share)  # new threads start with the number set last
    pool = ThreadPoolExecutor(workers, "cores", initializer=torch.set_num_threads, initargs=(share,))
    try:
        yield Cores(workers, pool)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)


def over_cores(work: Callable[[T], R], pieces: Iterable[T], count: int, device: torch.device) -> Iterator[R]:
    """`work` of each of `count` pieces, in their order, as many at once as `device` has cores (`Cores.map`)."""
    with shared_cores(device, count) as cores:
        yield from cores.map(work, pieces)


def even_batches(order: Sequence[T], largest: int) -> list[Sequence[T]]:
    """`order` in the fewest batches of at most `largest`, none smaller than another by more than one."""
    count = -(-len(order) // max(largest, 1))
    bounds = [round(i * len(order) / count) for i in range(count + 1)] if count else [0]
    return [order[first:last] for first, last in pairwise(bounds)]
