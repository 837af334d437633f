"""Frozen, typed parameters, one file a subject: every value of a run is public and checked before a node runs.

A model says what a field means and which values it may have, and gives it none: conf/base has the value of every field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from fedtext.params import reading
from fedtext.system.errors import InputError


class Parameters(BaseModel):
    """Base of every parameter model: immutable; an unknown key is an error, and so are a missing one and infinity.

    A field whose infinity means something says so (`allow_inf_nan`).
    Reading a field is noted (fedtext.params.reading): what was not read cannot have changed a result.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    if not TYPE_CHECKING:  # to mypy it would mean that every name is an attribute

        def __getattribute__(self, name: str) -> Any:
            reading.note(type(self), name)
            return super().__getattribute__(name)


Seed = Annotated[int, Field(ge=0, lt=2**32)]  # NumPy's old generators, which libraries draw from, take no more
Value = TypeVar("Value")
LearningRate = Annotated[float, Field(gt=0, le=10)]  # beyond it any training here diverges


def each_once(values: tuple[Value, ...], name: str) -> tuple[Value, ...]:
    """The values; ValueError if the parameter `name` has one twice."""
    if twice := [value for value in dict.fromkeys(values) if values.count(value) > 1]:
        raise InputError(f"{name} has {' and '.join(map(repr, twice))} twice: name each once")
    return values


def words(value: object) -> object:
    """A list as the command line gives it: words with spaces or commas between them; after `name=` nothing, none.

    A single word that is a number arrives as one, nothing as None.
    """
    if value is None:
        return ()
    return tuple(str(value).replace(",", " ").split()) if isinstance(value, str | int | float) else value
