"""How a run is refused: one message, no traceback, exit code 1.

A FedtextError says what is wrong and what helps, so a user needs no traceback; an error that comes out of a library is
not ours to shorten. A disk that fills up is the exception: it shows in whatever library was writing.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, ValidationError

from fedtext.system.errors import FedtextError

OF_PYDANTIC = ("Value error, ", "Assertion failed, ")


class RunRefusedError(click.ClickException, FedtextError, RuntimeError):
    """A run that must not start; the command line prints the message alone."""

    def __init__(self, summary: str, reasons: Sequence[str] = ()) -> None:
        super().__init__("\n".join([summary, *(f"  - {reason}" for reason in reasons)]))


def explanation(error: BaseException, data_root: Path) -> str | None:
    """What to tell a user instead of a traceback; None if `error` explains nothing."""
    chain = list(_chain(error))
    if any(_disk_is_full(link) for link in chain):
        return (
            f"the disk of data_root {data_root} is full; what was finished before is kept, whole. Free some space and "
            "run the same command again, or choose --params data_root=DIR"
        )
    return next((str(link) for link in chain if isinstance(link, FedtextError)), None)


def parameter_faults(parameters: Mapping[str, Any], models: Mapping[str, Any]) -> list[str]:
    """What is wrong with parameters, one sentence a fault; `models` are their pydantic models by dotted names."""
    faults = []
    for name, model in models.items():
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            continue
        try:
            model.model_validate(_value(parameters, name))
        except ValidationError as error:
            faults += [_fault(name, dict(found)) for found in error.errors(include_url=False)]
    return list(dict.fromkeys(faults))


def parameters_refused(faults: Sequence[str]) -> RunRefusedError:
    """The refusal that says all of them, of which there is at least one."""
    return RunRefusedError("parameters are wrong:", faults) if len(faults) > 1 else RunRefusedError(faults[0])


def _fault(name: str, found: Mapping[str, Any]) -> str:
    where = ".".join([name, *map(str, found["loc"])])
    said = str(found["msg"])
    for prefix in OF_PYDANTIC:
        said = said.removeprefix(prefix)
    if found["type"] == "extra_forbidden":
        return f"{where} is no parameter: correct its name (conf/base has them all)"
    if found["type"] == "missing":
        return f"{where} is not set: give it a value"
    return said if found["type"] == "value_error" else f"{where} is {found['input']!r}: {said[:1].lower()}{said[1:]}"


def _value(parameters: Mapping[str, Any], name: str) -> Any:
    value: Any = parameters
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _disk_is_full(error: BaseException) -> bool:
    """Python's own error names its number; Rust and SQLite only say it."""
    said = str(error)
    number = getattr(error, "errno", None)
    return number in {errno.ENOSPC, errno.EDQUOT} or "No space left on device" in said or "disk is full" in said
