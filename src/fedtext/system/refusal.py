"""How a run is refused: one message, no traceback, exit code 1.

A FedtextError says what is wrong and what helps, so a user needs no traceback; an error that comes out of a library
keeps its own. A full disk and a folder of another user are the exceptions: they show in whatever library was writing.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, ValidationError

from fedtext.system.errors import FedtextError, did_you_mean

# Parameters of earlier versions that no experiment varies, and the constant that each became.
CONSTANTS = {
    "contamination.resamples": "fedtext.pipelines.contamination.nodes.RESAMPLES",
    "ingest.pubmed.largest_search": "fedtext.largefedbench.ingest.pubmed.LARGEST_SEARCH",
    "ingest.requests.largest_body": "fedtext.largefedbench.ingest.http_client.LARGEST_BODY",
    "largefedbench.map_speeches": "fedtext.pipelines.largefedbench.nodes.SPEECHES_ON_THE_MAP",
}
FEW = 3  # equal faults, each listed by itself
OF_PYDANTIC = ("Value error, ", "Assertion failed, ")
_QUOTED = re.compile("'([^']+)'")


class RunRefusedError(click.ClickException, FedtextError, RuntimeError):
    """A run that must not start; the command line prints the message alone."""

    def __init__(self, summary: str, reasons: Sequence[str] = ()) -> None:
        super().__init__("\n".join([summary, *(f"  - {reason}" for reason in reasons)]))


def explanation(error: BaseException, data_root: Path) -> str | None:
    """Return the message that a user gets instead of a traceback; None if the error needs its traceback."""
    chain = list(_chain(error))
    if any(_disk_is_full(link) for link in chain):
        return (
            f"the disk of data_root {data_root} is full; what was finished before is kept, whole. Free some space and "
            "run the same command again, or choose --params data_root=DIR"
        )
    if told := next((str(link) for link in chain if isinstance(link, FedtextError)), None):
        return told
    if closed := next((place for link in chain if (place := _closed_to_us(link, data_root))), None):
        return (
            f"{closed} is closed to this user, as after a run of another one: give it the rights, or choose "
            "--params data_root=DIR"
        )
    return None


def parameter_faults(parameters: Mapping[str, Any], models: Mapping[str, Any]) -> list[str]:
    """Return the faults of parameters, one sentence each; `models` are their pydantic models by dotted names."""
    faults = []
    for name, model in models.items():
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            continue
        try:
            model.model_validate(_value(parameters, name))
        except ValidationError as error:
            faults += [_fault(name, dict(found), parameters) for found in error.errors(include_url=False)]
    return list(dict.fromkeys(faults))


def parameters_refusal(faults: Sequence[str]) -> RunRefusedError:
    """Return the refusal that lists all `faults`, of which there is at least one."""
    return refusal_for("parameters are wrong:", _without_repeats(faults))


def _without_repeats(faults: Sequence[str]) -> list[str]:
    """Return the faults, each once: a fault that more than `FEW` parameters share is reported for the first of them."""
    alike: dict[str, list[str]] = {}
    for fault in faults:
        name, verb, predicate = fault.partition(" is ")
        alike.setdefault(verb + predicate, []).append(name)
    sentences: list[str] = []
    for predicate, names in alike.items():
        if predicate and len(names) > FEW:
            sentences.append(f"{names[0]} (as {len(names) - 1} other parameters){predicate}")
        else:
            sentences += [name + predicate for name in names]
    return sentences


def refusal_for(summary: str, reasons: Sequence[str]) -> RunRefusedError:
    """Return a refusal: for one reason that reason alone, for several a summary and a line each."""
    return RunRefusedError(summary, reasons) if len(reasons) > 1 else RunRefusedError(reasons[0])


def unknown_parameter(where: str, parameters: Mapping[str, Any]) -> str:
    """Return the sentence about a dotted name that is no parameter; `parameters` are all parameters of the run."""
    if where in CONSTANTS:
        return f"{where} is no parameter: it is a constant now, {CONSTANTS[where]}; leave it out"
    group, _, last = where.rpartition(".")
    beside = [str(key) for key in _value(parameters, group) or () if key != last]
    same = [name for name in _names(parameters) if name.endswith(f".{last}") and name != where]
    elsewhere = sorted((one for one in same if not one.startswith("compare.")), key=lambda one: (len(one), one))
    group_is_left_out = not group and elsewhere  # `epsilon` is meant as it is written, and is no misspelt group
    if not group_is_left_out and (near := did_you_mean(last, beside, "")).startswith("did"):
        return f"{where} is no parameter{f' of {group}' if group else ''}: {near}"
    remedy = f"did you mean {' or '.join(map(repr, elsewhere[:3]))}?" if elsewhere else "conf/base has them all"
    return f"{where} is no parameter: {remedy}"


def _names(parameters: Mapping[str, Any], below: str = "") -> Iterator[str]:
    for key, value in parameters.items():
        yield f"{below}{key}"
        if isinstance(value, Mapping):
            yield from _names(value, f"{below}{key}.")


def _fault(name: str, found: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    where = ".".join([name, *map(str, found["loc"])])
    said = str(found["msg"])
    for prefix in OF_PYDANTIC:
        said = said.removeprefix(prefix)
    if found["type"] == "extra_forbidden":
        return unknown_parameter(where, parameters)
    if found["type"] == "missing":
        return f"{where} is not set: give it a value"
    if found["type"] == "value_error":
        return said
    if found["type"] == "literal_error":
        return (
            f"{where} is {found['input']!r}: {did_you_mean(found['input'], _QUOTED.findall(found['ctx']['expected']))}"
        )
    return f"{where} is {found['input']!r}: {said[:1].lower()}{said[1:]}"


def _value(parameters: Mapping[str, Any], name: str) -> Any:
    value: Any = parameters
    for key in filter(None, name.split(".")):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _closed_to_us(error: BaseException, data_root: Path) -> str | None:
    """Return the place in the data root that an error says this user may not read or write."""
    place = getattr(error, "filename", None)
    forbidden = getattr(error, "errno", None) in {errno.EACCES, errno.EPERM, errno.EROFS}
    return str(place) if forbidden and place and data_root in Path(str(place)).parents else None


def _disk_is_full(error: BaseException) -> bool:
    """Return whether `error` means a full disk: Python's errors carry its number, Rust and SQLite only mention it."""
    said = str(error)
    number = getattr(error, "errno", None)
    return number in {errno.ENOSPC, errno.EDQUOT} or "No space left on device" in said or "disk is full" in said
