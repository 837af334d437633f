"""What a reader of a published form hands on, and how it says that a file is not of that form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fedtext.system.errors import InputError


class Row(NamedTuple):
    """One record; without a `client_id` it is a client of its own."""

    client_id: str | None
    text: str
    label: str | None = None
    date: str | None = None


class FormError(InputError):
    """What a file lacks; who catches it adds the file, the form that was expected, and the remedy."""


def text_of(holder: object, name: str, where: str) -> str:
    """The text `holder[name]`; FormError if there is none. `where` says in which part of the file."""
    value = value_of(holder, name, where)
    if not isinstance(value, str) or not value.strip():
        raise FormError(f"{where}: '{name}' is not text, or empty")
    return value


def list_of(holder: object, name: str, where: str) -> list[Any]:
    """The list `holder[name]`; FormError if there is none."""
    value = value_of(holder, name, where)
    if not isinstance(value, list):
        raise FormError(f"{where}: '{name}' is not a list")
    return value


def value_of(holder: object, name: str, where: str) -> Any:
    """The value `holder[name]`; FormError if there is none."""
    if not isinstance(holder, Mapping) or holder.get(name) is None:
        raise FormError(f"{where}: no '{name}'")
    return holder[name]


def columns_named(*wanted: str) -> Any:
    """Chooses these columns of a table; FormError names the first that is not there."""

    def choose(names: list[str]) -> list[str]:
        for name in wanted:
            if names.count(name) != 1:
                raise FormError(f"{names.count(name) or 'no'} column{'s' if name in names else ''} '{name}'")
        return list(wanted)

    return choose
