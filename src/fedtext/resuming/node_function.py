"""What a node's function is made of: the functions behind it, and the values that these hold.

Behind a function are what it wraps, what a partial fixes, and the functions in closures, fixed arguments and defaults.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from pydantic import BaseModel

from fedtext.resuming.fingerprint import text_digest


def innermost(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function without its decorators and fixed arguments."""
    while isinstance(function, functools.partial):
        function = function.func
    unwrapped: Callable[..., Any] = inspect.unwrap(function)
    return unwrapped


def dotted_name(function: Callable[..., Any]) -> str:
    """Return the dotted name of a function, as its attributes say."""
    return f"{function.__module__}.{function.__qualname__}"


def others(function: Callable[..., Any]) -> list[FunctionType]:
    """Return the Python functions behind `function` beside the innermost one: decorators, and what they are given."""
    own = innermost(function)
    return [one for one in _functions(function, {}) if one is not own]


def written_name(function: FunctionType) -> str:
    """Return the dotted name of the place where a function is written; `functools.wraps` gives it another's."""
    return f"{function.__globals__.get('__name__')}.{function.__code__.co_qualname}"


def source_file(function: Callable[..., Any]) -> Path | None:
    """Return the file that a function is written in; None if there is none."""
    found = inspect.getsourcefile(function)
    return Path(found) if found else None


def bound(function: Callable[..., Any]) -> list[str]:
    """Return texts of the values that a function holds: fixed arguments, and settings in closures and defaults."""
    told = []
    if isinstance(function, functools.partial):
        fixed = (function.args, function.keywords)
        told += [repr(value) if _is_told_by_repr(value) else _told(value) for value in fixed]
    elif isinstance(function, MethodType):
        told.append(f"self={_told(function.__self__)}")
    for one in _functions(function, {}):
        for name, value in _cells(one):
            if isinstance(value, str | int | float | tuple) and _is_told_by_repr(value):
                told.append(repr(value))
            elif value is not None and value is not getattr(one, "__wrapped__", None):
                told.append(f"{name}={_told(value)}")
        if "<locals>" in one.__code__.co_qualname and (one.__defaults__ or one.__kwdefaults__):
            told.append(f"defaults={_told([one.__defaults__, one.__kwdefaults__])}")
    return told


def _cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _functions(value: Any, seen: dict[int, Any]) -> Iterator[FunctionType]:
    """Yield the functions in a value, and those behind them."""
    if isinstance(value, str | bytes | int | float | type | np.ndarray | None) or id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, functools.partial):
        inside: list[Any] = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, MethodType):
        inside = [value.__func__, value.__self__]
    elif isinstance(value, FunctionType):
        yield value
        given = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        inside = [getattr(value, "__wrapped__", None), *(one for _, one in _cells(value)), *given]
    else:
        inside = [one for _, one in _parts(value)]
    for one in inside:
        yield from _functions(one, seen)


def _parts(value: Any) -> list[tuple[Any, Any]]:
    """Return the parts of a container or a model with their names; none of another value."""
    if isinstance(value, Mapping):
        return [*value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return [*enumerate(value)]
    if isinstance(value, BaseModel):
        return [*value.__dict__.items()]
    if is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name, None)) for field in fields(value)]
    return []


def _is_told_by_repr(value: Any) -> bool:
    """Return whether `repr` is the same in every process, and another for every other value."""
    if isinstance(value, set | frozenset | np.ndarray | functools.partial | FunctionType | MethodType):
        return False
    if inside := _parts(value):
        return all(_is_told_by_repr(one) for _, one in inside)
    return " at 0x" not in repr(value)


def _told(value: Any) -> str:
    """Return a text of a value that is the same in every process; of an object of another kind its class alone."""
    if isinstance(value, functools.partial):
        return f"partial({_told(value.func)}, {_told([value.args, value.keywords])})"
    if isinstance(value, MethodType):
        return f"{_told(value.__self__)}.{value.__func__.__qualname__}"
    if isinstance(value, FunctionType):
        return written_name(value)  # what it holds is told beside it
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {text_digest(repr(value.tolist()))}"
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, set | frozenset):
        return f"{kind}{sorted(map(_told, value))}"
    if isinstance(value, Mapping | list | tuple | BaseModel) or is_dataclass(value):
        if isinstance(value, type):
            return repr(value)
        return f"{kind}{[(_told(name), _told(one)) for name, one in _parts(value)]}"
    text = repr(value)
    return kind if " at 0x" in text else text
