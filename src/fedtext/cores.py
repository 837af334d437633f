"""Independent pieces of work side by side on a CPU: one core a piece, as long as there are pieces.

torch spreads each small matrix product over all cores and waits at every one of them for the slower half. Whole batches
on one core each wait for nothing, which makes embedding 1.1 to 1.2 times as fast on two cores (with other things, in
benchmarks/embedding.py), and what a batch gives no longer depends on how many cores there are. Many clients' training
gains from it too; one model's does not: a small model's steps are too short for threads that take turns in Python.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
R = TypeVar("R")


def over_cores(work: Callable[[T], R], pieces: Iterable[T], count: int, device: torch.device) -> Iterator[R]:
    """`work` of each of `count` pieces, in their order: as many at once as there are cores on a CPU, else one.

    Pieces are taken as they are needed, by the calling thread. What torch keeps for each thread, such as the inference
    mode, is for `work` to set; torch's own threads are what remains to each, one where there are pieces enough.
    """
    import torch

    cores = torch.get_num_threads()
    workers = min(cores, count) if device.type == "cpu" else 1
    if workers < 2:
        yield from map(work, pieces)
        return
    share = cores // workers
    torch.set_num_threads(share)  # new threads start with the number set last
    pool = ThreadPoolExecutor(workers, "cores", initializer=torch.set_num_threads, initargs=(share,))
    try:
        yield from _in_order(pool, work, pieces, at_once=2 * workers)  # one under way and one to go on with
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)


def per_thread(make: Callable[[], T]) -> Callable[[], T]:
    """What `make` gives, made once for each thread that asks."""
    own = threading.local()

    def of_this_thread() -> T:
        if not hasattr(own, "made"):
            own.made = make()
        made: T = own.made
        return made

    return of_this_thread


def _in_order(pool: ThreadPoolExecutor, work: Callable[[T], R], pieces: Iterable[T], at_once: int) -> Iterator[R]:
    begun: deque[Future[R]] = deque()
    for piece in pieces:
        begun.append(pool.submit(work, piece))
        if len(begun) > at_once:
            yield begun.popleft().result()
    while begun:
        yield begun.popleft().result()


def even_batches(order: Sequence[T], largest: int) -> list[Sequence[T]]:
    """`order` in the fewest batches of at most `largest`, none smaller than another by more than one."""
    count = -(-len(order) // max(largest, 1))
    bounds = [round(i * len(order) / count) for i in range(count + 1)] if count else [0]
    return [order[first:last] for first, last in pairwise(bounds)]
