"""Record which parameters a node reads: its result depends on these and on no others.

A field is named by its model's class, `Popri.oversample`. An operation on a model as a whole (a comparison, a copy, a
dump, a pickle) reads all of it, `Popri.*`. Reads of all threads of the process are recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel

EVERYTHING = "*"
_watching: list[set[str]] = []


@contextmanager
def watched(read: set[str]) -> Iterator[None]:
    """Record into `read` every field that is read in this context."""
    _watching.append(read)
    try:
        yield
    finally:
        _watching.pop()


@contextmanager
def without_recording() -> Iterator[None]:
    """Record nothing in this context: these reads are the runner's, and no node's result depends on them."""
    watching, _watching[:] = _watching[:], []
    try:
        yield
    finally:
        _watching[:] = watching


def note(model: type[BaseModel], name: str) -> None:
    """Record the attribute `name` of an instance of `model`; its own methods and properties read fields themselves."""
    if not _watching or name == "__class__":
        return
    if name not in model.__pydantic_fields__:
        if not name.startswith("__") and not hasattr(BaseModel, name):
            return
        name = EVERYTHING
    for read in _watching:
        read.add(f"{model.__qualname__}.{name}")
