"""Values that a node's function, or one that it decorates, holds beside its inputs: bound, closed over, attributes.

Settings are allowed. A table, an array or a text is data that no check of the graph sees, and so are many short texts,
for they may be a table's. What a parameter is called or says is a setting, however long and however many. The path of a
private file is no setting, except among the parameters of a run that the node starts (fedtext.wiring.own_run).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from numbers import Real
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from pydantic import BaseModel

from fedtext.wiring.own_run import RunParameters

LONGEST_WORD = 100  # characters: the name of something, not a text
MOST_WORDS = 200  # beside the parameters': a list of texts has more


class KnownStrings(NamedTuple):
    """The strings that can be recognised: resolved paths of private files, and the parameters' names and texts."""

    private_files: frozenset[Path] = frozenset()
    parameters: frozenset[str] = frozenset()


NOTHING = KnownStrings()


def bound_values(function: Callable[..., Any], known: KnownStrings = NOTHING) -> tuple[str, ...]:
    """Return descriptions of the bound values that are no settings, at most one for each."""
    found = []
    seen = set[int]()
    for name, value in _held_values(function, seen):
        words: list[str] = []
        fault = _fault(value, words, known, seen)
        if fault is None and len(words) > MOST_WORDS:
            fault = f"{len(words)} strings"
        if fault is not None:
            found.append(f"{fault} ('{name}')")
    return tuple(found)


def _held_values(function: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield what a function holds, by name, and what the function holds that it decorates; `seen` ends circles."""
    if id(function) in seen:
        return
    seen.add(id(function))
    if isinstance(function, MethodType):
        yield "self", function.__self__
        yield from _held_values(function.__func__, seen)
        return
    if isinstance(function, BuiltinFunctionType | type):
        return
    if isinstance(function, functools.partial):
        yield from [(f"argument {i}", value) for i, value in enumerate(function.args, start=1)]
        yield from function.keywords.items()
        yield from _held_values(function.func, seen)
    elif isinstance(function, FunctionType):
        yield from _closure_and_defaults(function)
    elif not isinstance(function, functools._lru_cache_wrapper | staticmethod):
        yield "self", function
        return
    attributes = {name: value for name, value in vars(function).items() if name not in functools.WRAPPER_ASSIGNMENTS}
    inner = attributes.pop("__wrapped__", getattr(function, "__wrapped__", None))
    yield from attributes.items()
    if inner is not None:
        yield from _held_values(inner, seen)


def _closure_and_defaults(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
    for parameter in inspect.signature(function, follow_wrapped=False).parameters.values():
        if parameter.default is not inspect.Parameter.empty:
            yield parameter.name, parameter.default


def _fault(value: Any, words: list[str], known: KnownStrings, seen: set[int]) -> str | None:
    """Return what is wrong with a bound value, None if it is a setting.

    `words` collects strings of no parameter, `seen` the functions that were looked at.
    """
    if isinstance(value, str | Path) and not isinstance(value, Enum):
        return _fault_of_word(str(value), words, known)
    if value is None or isinstance(value, Real | Enum | type | ModuleType | BuiltinFunctionType):
        return None
    if isinstance(value, FunctionType | MethodType | functools.partial):
        return next((fault for _, one in _held_values(value, seen) if (fault := _fault(one, words, known, seen))), None)
    if type(value) is RunParameters:  # the run that is started with them is guarded by itself
        return _fault(value.values, words, known._replace(private_files=frozenset()), seen)
    if isinstance(value, BaseModel):
        parts: Any = dict(value.__dict__)
    elif is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
    else:
        parts = value
    if isinstance(parts, Mapping):
        parts = [*parts.keys(), *parts.values()]
    if isinstance(parts, list | tuple | set | frozenset):
        return next((fault for one in parts if (fault := _fault(one, words, known, seen))), None)
    return f"a {type(value).__name__}"


def _fault_of_word(word: str, words: list[str], known: KnownStrings) -> str | None:
    if known.private_files and "/" in word and Path(word).expanduser().resolve() in known.private_files:
        return "the path of a private file"
    if word in known.parameters:
        return None
    if len(word) > LONGEST_WORD and not ("/" in word and " " not in word):
        return f"a text of {len(word)} characters"
    words.append(word)
    return None
