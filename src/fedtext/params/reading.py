"""Which fields of its parameters a piece of work reads: its result depends on these and on no others.

A field is named by its model's class, `Popri.oversample`. What takes a model as a whole (a comparison, a copy, a dump,
a pickle) reads all of it, `Popri.*`. What is read in the process is entered, in whichever thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel

EVERYTHING = "*"
_watching: list[set[str]] = []


@contextmanager
def watched(read: set[str]) -> Iterator[None]:
    """Enters into `read` every field that is read inside."""
    _watching.append(read)
    try:
        yield
    finally:
        _watching.pop()


@contextmanager
def unnoticed() -> Iterator[None]:
    """Reads inside are entered nowhere: they are the runner's, and decide nothing of a node's results."""
    watching, _watching[:] = _watching[:], []
    try:
        yield
    finally:
        _watching[:] = watching


def note(model: type[BaseModel], name: str) -> None:
    """Enters the attribute `name` of an instance of `model`; its own methods and properties read fields themselves."""
    if not _watching or name == "__class__":
        return
    if name not in model.__pydantic_fields__:
        if not name.startswith("__") and not hasattr(BaseModel, name):
            return
        name = EVERYTHING
    for read in _watching:
        read.add(f"{model.__qualname__}.{name}")
