"""The guard of a node's work in other processes: a worker is watched as the node is, piece by piece.

What a worker of this machine leaves in the run's folders is found when the node ends, as what the node leaves there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from fedtext.system.engine import Engine, InProcess
from fedtext.wiring.guard.left_behind import nothing_left_running
from fedtext.wiring.guard.side_effects import watched
from fedtext.wiring.guard.watch import Watch

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class WatchedWork(Generic[T, R]):
    """A function that a worker computes under the watch of the node that needs it."""

    work: Callable[[T], R]
    watch: Watch

    def __call__(self, piece: T) -> R:
        """Return `work(piece)`.

        Raises:
            RunRefusedError: It had a side effect that the watch forbids, or left a thread or a process running.
        """
        with ExitStack() as stack:
            stack.enter_context(watched(self.watch))
            if self.watch.reads_private:
                stack.enter_context(nothing_left_running(self.watch))
            return self.work(piece)


@dataclass(frozen=True)
class WatchedEngine:
    """An engine whose workers are watched as the node is."""

    engine: Engine
    watch: Watch

    def map(self, work: Callable[[T], R], pieces: Iterable[T], /) -> Iterator[R]:
        """Implement Engine."""
        return self.engine.map(WatchedWork(work, self.watch), pieces)


def watched_engine(engine: Engine, watch: Watch) -> Engine:
    """Return the engine with workers that `watch` watches too; the node's own process is watched already.

    What may be private in the node's inputs is not known to its workers: their messages repeat no name at all.
    """
    if isinstance(engine, InProcess):
        return engine
    return WatchedEngine(engine, replace(watch, may_be_private=_may_always_be))


def _may_always_be(_: str) -> bool:
    return True
