"""Frozen, typed parameters, one file a subject: every value of a run is public and checked before a node runs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Parameters(BaseModel):
    """Base of every parameter model: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def words(value: object) -> object:
    """A list as the command line can give it, which takes none with commas: words with spaces between them.

    A single word of digits arrives as a number.
    """
    return tuple(str(value).split()) if isinstance(value, str | int) else value
