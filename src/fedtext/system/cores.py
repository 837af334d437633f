"""Independent pieces of work side by side, a core each, and memory that is kept in the process.

Independent pieces of work side by side on a CPU: one core a piece, one thread of torch's whatever else there is.

torch spreads each small matrix product over all cores and waits at every one of them for the slower half. Whole batches
on one core each wait for nothing, which makes embedding 1.1 to 1.2 times as fast on two cores (with other things, in
benchmarks/embedding.py). A lone piece gets one thread too: products split among threads may be rounded differently, and
what a piece gives must depend neither on how many cores there are nor on how many pieces come with it. Many clients'
training gains from it too; one model's does not: a small model's steps are too short for threads that take turns.

Keep freed memory in the process while a node is at work: large tensors otherwise cost fresh pages each time.

Training and decoding on a CPU free and take the same tens of megabytes at every step; two fifths of the time of an
untuned run went into page faults. Between nodes it goes back, or each kind of work would leave its own pieces behind
and the main job end with 4.8 GiB. This is glibc's allocator; other C libraries are left as they are.
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
    """`work` of each of `count` pieces, in their order: as many at once as there are cores on a CPU, else one.

    Pieces are taken as they are needed, by the calling thread. What torch keeps for each thread, such as the inference
    mode, is for `work` to set; on a CPU one thread of torch's own does each piece, a lone one too.
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
    """What `make` gives, made once for each thread that asks."""
    own = threading.local()

    def of_this_thread() -> T:
        if not hasattr(own, "made"):
            own.made = make()
        made: T = own.made
        return made

    return of_this_thread


def even_batches(order: Sequence[T], largest: int, multiple: int = 1) -> list[Sequence[T]]:
    """`order` in the fewest batches of at most `largest`, none smaller than another by more than one.

    Their number is a multiple of `multiple` where there is enough to fill them: then no core waits for the last one.
    """
    count = -(-len(order) // max(largest, 1))
    count = min(-(-count // multiple) * multiple, len(order))
    bounds = [round(i * len(order) / count) for i in range(count + 1)] if count else [0]
    return [order[first:last] for first, last in pairwise(bounds)]


TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # malloc.h
KEPT_BYTES = 2**31 - 1
GROWN_BY_BYTES = 2**26


def keep_freed_memory() -> bool:
    """Tell glibc's allocator to serve large blocks from the heap and to give none back; False where it is not glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # TypeError: Windows
        return False
    settings = ((MMAP_MAX, 0), (TRIM_THRESHOLD, KEPT_BYTES), (TOP_PAD, GROWN_BY_BYTES))
    return all(mallopt(name, value) == 1 for name, value in settings)


def give_freed_memory_back() -> bool:
    """Return what is free to the system, from the middle of the heap too; False where nothing was, or not glibc."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # TypeError: Windows
        return False
    return bool(trim(ctypes.c_size_t(0)))
