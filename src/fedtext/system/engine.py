"""Engines: where the pieces of independent work are computed, in this process or in others.

An engine is an ordered map of a function over pieces. The data fix the size of a piece, never the number of workers,
and results come in the order of the pieces. So where a piece is computed changes no bit of a result.

The runner starts the engine before a node runs and puts it in force (`computing_on`); whoever has pieces maps them by
`current().map(work, pieces)`. Functions travel to workers by cloudpickle: closures and partials do too.
"""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Barrier
from threading import Thread
from typing import Any, Protocol, TypeVar

from fedtext.system.alike import validate_alike
from fedtext.system.errors import FedtextError
from fedtext.system.threads import cores_here, ordered

T = TypeVar("T")
R = TypeVar("R")
COLLECTIONS = (20_000, 20, 50)  # new objects, and collections of the younger generation, before the next one
START_PATIENCE = 600.0  # seconds for all workers to be there


class Engine(Protocol):
    """Interface of an ordered map for functions that can be pickled."""

    def map(self, work: Callable[[T], R], pieces: Iterable[T], /) -> Iterator[R]:
        """Yield `work(piece)` for every piece, in order; pieces are taken as they are needed."""
        ...


class WorkerLostError(FedtextError, RuntimeError):
    """A worker process that ended before its piece was done."""


class InProcess:
    """Computes the pieces one after the other, in this process."""

    def map(self, work: Callable[[T], R], pieces: Iterable[T], /) -> Iterator[R]:
        """Implement Engine."""
        return map(work, pieces)


class Processes:
    """Computes the pieces over processes of this machine (`over_processes`)."""

    def __init__(self, pool: ProcessPoolExecutor, workers: int) -> None:
        self._pool, self._workers = pool, workers

    def map(self, work: Callable[[T], R], pieces: Iterable[T], /) -> Iterator[R]:
        """Implement Engine.

        Raises:
            WorkerLostError: A worker was killed.
        """
        packed = as_bytes(work)
        try:
            done = ordered(
                lambda piece: self._pool.submit(_compute_by_value, packed, as_bytes(piece)).result,
                pieces,
                at_once=2 * self._workers,
            )
            yield from map(from_bytes, done)
        except BrokenProcessPool:
            raise WorkerLostError(
                f"one of {self._workers} worker processes ended in the middle of its work, as one does that needs more "
                "memory than there is: run the same command to go on, with fewer workers (engine.workers)",
                code="worker-lost",
                parameter="engine.workers",
                value=self._workers,
            ) from None


_engine: ContextVar[Engine] = ContextVar("engine", default=InProcess())  # noqa: B039 - it has no state
_worker_processes: set[int] = set()


def current() -> Engine:
    """Return the engine in force; without a runner it is this process."""
    return _engine.get()


@contextmanager
def computing_on(engine: Engine) -> Iterator[None]:
    """Put `engine` in force for the block."""
    token = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(token)


def worker_processes() -> frozenset[int]:
    """Return the process numbers of the workers of started engines, and of what starts workers for them."""
    return frozenset(_worker_processes)


@contextmanager
def known_as_workers(processes: Iterable[int]) -> Iterator[None]:
    """List these processes among `worker_processes` until the end of the block."""
    known = set(processes)
    _worker_processes.update(known)
    try:
        yield
    finally:
        _worker_processes.difference_update(known)


@contextmanager
def over_processes(workers: int | None = None) -> Iterator[Engine]:
    """Yield an engine over `workers` processes (None: one a core), all of which have started.

    No process or thread starts later: a node that reads private data may start none.
    """
    count = workers or cores_here()
    context = get_context("spawn")
    all_started = context.Barrier(count)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_start_worker, initargs=(all_started,))
    try:
        with threads_of_a_worker(count):
            started = [pool.submit(_wait_for_all) for _ in range(count)]
            processes = {one.result() for one in started}
        with known_as_workers(processes):
            yield Processes(pool, count)
    finally:
        pool.shutdown(cancel_futures=True)


def as_bytes(value: object) -> bytes:
    """Return a function or a piece as bytes, for a worker; closures and partials too."""
    import cloudpickle

    packed: bytes = cloudpickle.dumps(value)
    return packed


def from_bytes(packed: bytes) -> Any:
    """Return what another process of this run made into bytes by `as_bytes`."""
    import cloudpickle

    return cloudpickle.loads(packed)


def compute(packed: bytes, piece: Any) -> Any:
    """Return the value of a packed function for a piece, in a worker."""
    return _unpacked(packed)(piece)


def compute_alike(run: dict[str, str], packed: bytes, piece: Any) -> Any:
    """Return the value as `compute` does, in a worker that may compute otherwise than the run.

    Args:
        run: What the run computes with (`fedtext.system.alike.computed_with`).
        packed: The function.
        piece: What it is computed of.

    Raises:
        OtherWorkerError: This worker computes with something else.
    """
    validate_alike(run)
    return compute(packed, piece)


def _compute_by_value(packed: bytes, piece: bytes) -> bytes:
    """Return the value for a piece, both as bytes.

    Without this, torch would send a tensor as an open file of its process, which may have closed it by then.
    """
    return as_bytes(compute(packed, from_bytes(piece)))


@functools.lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Callable[[Any], Any]:
    """Return the function; what it prepares, such as a model, stays for its next piece."""
    work: Callable[[Any], Any] = from_bytes(packed)
    return work


@contextmanager
def few_collections() -> Iterator[None]:
    """Reduce searches for cyclic garbage, which pages of text do not have, and which walk through all libraries."""
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


@contextmanager
def threads_of_a_worker(workers: int) -> Iterator[None]:
    """Give each worker that starts in the block its share of the cores, for threads of its libraries."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = before or str(max(1, cores_here() // workers))
    try:
        yield
    finally:
        os.environ.pop("OMP_NUM_THREADS")
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


_all_started: list[Barrier] = []  # of this process, if it is a worker


def _start_worker(all_started: Barrier) -> None:
    """Make a worker end as soon as its run is killed, so that it does not write beside the next run."""
    os.environ["FEDTEXT_PROGRESS"] = "0"  # several workers' bars would be drawn over each other
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    Thread(target=exit_with_parent, daemon=True).start()
    _all_started.append(all_started)


def _wait_for_all() -> int:
    """Wait until every worker has started, and return the number of this one."""
    _all_started[0].wait(START_PATIENCE)
    return os.getpid()


def exit_with_parent() -> None:
    """End this process, a worker's, as soon as its run has ended; for a thread of its own."""
    run = parent_process()
    assert run is not None  # this is a worker
    run.join()
    os._exit(1)
