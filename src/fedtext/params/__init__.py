"""Frozen, typed parameters, one file a subject: every value of a run is public and checked before a node runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from fedtext.params import reading


class Parameters(BaseModel):
    """Base of every parameter model: immutable, and an unknown key is an error.

    Reading a field is noted (fedtext.params.reading): what was not read cannot have changed a result.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    if not TYPE_CHECKING:  # to mypy it would mean that every name is an attribute

        def __getattribute__(self, name: str) -> Any:
            reading.note(type(self), name)
            return super().__getattribute__(name)


def words(value: object) -> object:
    """A list as the command line can give it, which takes none with commas: words with spaces between them.

    A single word of digits arrives as a number.
    """
    return tuple(str(value).split()) if isinstance(value, str | int) else value
