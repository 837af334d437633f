"""Independent tasks of a build, one after the other or over several processes: the same results in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Run(Protocol):
    """`map` of a function that can be pickled."""

    def __call__(self, work: Callable[[T], R], tasks: Iterable[T], /) -> Iterator[R]:
        """`work` of every task, in order."""
        ...


@contextmanager
def side_by_side(processes: int) -> Iterator[Run]:
    """A `map` over so many processes; in this one, if they are one."""
    if processes == 1:
        yield map
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield pool.map
