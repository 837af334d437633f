"""Independent pieces of work in parallel, one core each, and memory that is kept in the process.

torch spreads each small matrix product over all cores, and each product waits for the slowest core. Whole batches on
one core each wait for nothing, which makes embedding 1.1 to 1.2 times as fast on two cores (benchmarks/embedding.py). A
single piece gets one thread too: products that are split among threads may be rounded differently, and a result must
depend neither on the number of cores nor on the number of pieces. The training of many clients gains from it too. That
of one model does not: a small model's steps are too short for threads that take turns.

While a node runs, freed memory is kept in the process. Training and decoding on a CPU free and allocate the same tens
of megabytes at every step; two fifths of the time of an untuned run went into page faults. Between nodes the memory is
returned, or each kind of work would leave its own pieces behind and the main job end with 4.8 GiB. This uses glibc's
allocator; with other C libraries nothing changes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from fedtext.system.threads import in_order

if TYPE_CHECKING:
    import torch


T = TypeVar("T")
R = TypeVar("R")


def over_cores(work: Callable[[T], R], pieces: Iterable[T], count: int, device: torch.device) -> Iterator[R]:
    """Yield `work(piece)` for each of `count` pieces, in order: in parallel on a CPU, one after the other elsewhere.

    Pieces are taken as they are needed, by the calling thread. On a CPU each piece runs with one torch thread, also
    when there is only one piece. Settings that torch keeps per thread, such as inference mode, are for `work` to set.
    """
    import torch

    if device.type != "cpu":
        yield from map(work, pieces)
        return
    cores = torch.get_num_threads()
    workers = min(cores, count)
    torch.set_num_threads(1)  # new threads start with the number set last
    try:
        yield from map(work, pieces) if workers < 2 else _side_by_side(work, pieces, workers)
    finally:
        torch.set_num_threads(cores)


def _side_by_side(work: Callable[[T], R], pieces: Iterable[T], workers: int) -> Iterator[R]:
    import torch

    pool = ThreadPoolExecutor(workers, "cores", initializer=torch.set_num_threads, initargs=(1,))
    return in_order(pool, work, pieces, at_once=2 * workers)  # one under way and one to go on with


def per_thread(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that calls `make` once per thread and then returns that thread's value."""
    own = threading.local()

    def of_this_thread() -> T:
        if not hasattr(own, "made"):
            own.made = make()
        made: T = own.made
        return made

    return of_this_thread


def even_batches(order: Sequence[T], largest: int, multiple: int = 1) -> list[Sequence[T]]:
    """Split `order` into the fewest batches of at most `largest`, whose sizes differ by at most one.

    The number of batches is a multiple of `multiple` if there are enough items, so that no core waits for the last
    batch.
    """
    count = -(-len(order) // max(largest, 1))
    count = min(-(-count // multiple) * multiple, len(order))
    bounds = [round(i * len(order) / count) for i in range(count + 1)] if count else [0]
    return [order[first:last] for first, last in pairwise(bounds)]


TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # malloc.h
NEVER = -1  # bounds are ints, and a step of DP-FedAvg at 82M weights frees more than 2 GiB
GROWN_BY_BYTES = 2**26


def keep_freed_memory() -> bool:
    """Tell glibc's allocator to serve large blocks from the heap and to keep freed memory; False if it is not glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # TypeError: Windows
        return False
    settings = ((MMAP_MAX, 0), (TRIM_THRESHOLD, NEVER), (TOP_PAD, GROWN_BY_BYTES))
    return all(mallopt(name, value) == 1 for name, value in settings)


def return_freed_memory() -> bool:
    """Return free memory to the operating system, also from the middle of the heap.

    Returns:
        False if nothing was free, or if the C library is not glibc.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # TypeError: Windows
        return False
    return bool(trim(ctypes.c_size_t(0)))
