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

from fedtext.system.errors import FedtextError, InputError, did_you_mean

# Parameters of earlier versions that no experiment varies, and the constant that each became.
CONSTANTS = {
    "contamination.resamples": "fedtext.pipelines.contamination.nodes.RESAMPLES",
    "ingest.pubmed.largest_search": "fedtext.largefedbench.ingest.pubmed.LARGEST_SEARCH",
    "ingest.requests.largest_body": "fedtext.largefedbench.ingest.http_client.LARGEST_BODY",
    "largefedbench.map_speeches": "fedtext.pipelines.largefedbench.nodes.SPEECHES_ON_THE_MAP",
}
RENAMED = {"evaluation.priced": "evaluation.dp"}  # parameters of earlier versions, by their names of today
FEW = 3  # equal faults, each listed by itself
OF_PYDANTIC = ("Value error, ", "Assertion failed, ")
_QUOTED = re.compile("'([^']+)'")


class RunRefusedError(FedtextError, click.ClickException, RuntimeError):
    """A run that must not start; the command line prints the message alone.

    `faults` are the errors that a refusal of several lists, a line each.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        parameter: str | None = None,
        value: object = None,
        faults: Sequence[FedtextError] = (),
    ) -> None:
        lines = [message, *(f"  - {fault}" for fault in faults)]
        super().__init__("\n".join(lines), code=code, parameter=parameter, value=value)
        self.faults = tuple(faults)


def refusal_of(error: FedtextError) -> RunRefusedError:
    """Return the refusal of a run because of `error`, with its sentence and its parts."""
    refusal = RunRefusedError(str(error), code=error.code, parameter=error.parameter, value=error.value)
    refusal.faults = error.faults if isinstance(error, RunRefusedError) else ()
    return refusal


def explanation(error: BaseException, data_root: Path) -> RunRefusedError | None:
    """Return what a user is told instead of a traceback; None if the error needs its traceback."""
    chain = list(_chain(error))
    if any(_disk_is_full(link) for link in chain):
        return RunRefusedError(
            f"the disk of data_root {data_root} is full; what was finished before is kept, whole. Free some space and "
            "run the same command again, or choose --params data_root=DIR",
            code="disk-of-data-root-full",
            parameter="data_root",
            value=str(data_root),
        )
    if (told := next((link for link in chain if isinstance(link, FedtextError)), None)) is not None:
        return refusal_of(told)
    if closed := next((place for link in chain if (place := _closed_to_us(link, data_root))), None):
        return RunRefusedError(
            f"{closed} is closed to this user, as after a run of another one: give it the rights, or choose "
            "--params data_root=DIR",
            code="data-root-closed",
            parameter="data_root",
            value=closed,
        )
    return None


def parameter_faults(parameters: Mapping[str, Any], models: Mapping[str, Any]) -> list[FedtextError]:
    """Return the faults of parameters; `models` are their pydantic models by dotted names."""
    faults: dict[str, FedtextError] = {}
    for name, model in models.items():
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            continue
        try:
            model.model_validate(_value(parameters, name))
        except ValidationError as error:
            faults |= {str(fault): fault for fault in faults_of(error, name, parameters)}
    return list(faults.values())


def faults_of(
    error: ValidationError, group: str = "", parameters: Mapping[str, Any] | None = None
) -> list[FedtextError]:
    """Return the faults that a pydantic model found in its `group` of the parameters.

    A list is too short for pydantic where its items are wrong, which is no fault besides theirs.
    """
    errors = error.errors(include_url=False)
    within = {found["loc"][:-1] for found in errors}
    told = [found for found in errors if found["type"] != "too_short" or found["loc"] not in within]
    return [_fault(group, dict(found), parameters or {}) for found in told]


def parameters_refusal(faults: Sequence[FedtextError]) -> RunRefusedError:
    """Return the refusal that lists all `faults`, of which there is at least one."""
    summary = RunRefusedError("parameters are wrong:", code="wrong-parameters", faults=_without_repeats(faults))
    return one_or_all(summary)


def _without_repeats(faults: Sequence[FedtextError]) -> list[FedtextError]:
    """Return the faults, each once: a fault that more than `FEW` parameters share is reported for the first of them."""
    alike: dict[str, list[FedtextError]] = {}
    for fault in faults:
        alike.setdefault(str(fault).removeprefix(fault.parameter or ""), []).append(fault)
    return [one for predicate, same in alike.items() for one in _summarised(predicate, same)]


def _summarised(predicate: str, faults: list[FedtextError]) -> list[FedtextError]:
    first = faults[0]
    if len(faults) <= FEW:
        return faults
    sentence = f"{first.parameter} (as {len(faults) - 1} other parameters){predicate}"
    return [InputError(sentence, code=first.code, parameter=first.parameter, value=first.value)]


def one_or_all(refusal: RunRefusedError) -> RunRefusedError:
    """Return a refusal of several faults as it is, and of one fault as the refusal of that fault alone."""
    return refusal_of(refusal.faults[0]) if len(refusal.faults) == 1 else refusal


def unknown_parameter(where: str, parameters: Mapping[str, Any]) -> InputError:
    """Return the error about a dotted name that is no parameter; `parameters` are all parameters of the run."""
    if where in CONSTANTS:
        return InputError(
            f"{where} is no parameter: it is a constant now, {CONSTANTS[where]}; leave it out",
            code="parameter-became-constant",
            parameter=where,
        )
    if where in RENAMED:
        return InputError(
            f"{where} is no parameter: it is called {RENAMED[where]} now", code="parameter-renamed", parameter=where
        )
    group, _, last = where.rpartition(".")
    beside = [str(key) for key in _value(parameters, group) or () if key != last]
    same = [name for name in _names(parameters) if name.endswith(f".{last}") and name != where]
    elsewhere = sorted((one for one in same if not one.startswith("compare.")), key=lambda one: (len(one), one))
    group_is_left_out = not group and elsewhere  # `epsilon` is meant as it is written, and is no misspelt group
    of_group = ""
    if not group_is_left_out and (near := did_you_mean(last, beside, "")).startswith("did"):
        of_group, remedy = f" of {group}" if group else "", near
    else:
        remedy = f"did you mean {' or '.join(map(repr, elsewhere[:3]))}?" if elsewhere else "conf/base has them all"
    return InputError(f"{where} is no parameter{of_group}: {remedy}", code="unknown-parameter", parameter=where)


def _names(parameters: Mapping[str, Any], below: str = "") -> Iterator[str]:
    for key, value in parameters.items():
        yield f"{below}{key}"
        if isinstance(value, Mapping):
            yield from _names(value, f"{below}{key}.")


def _fault(group: str, found: Mapping[str, Any], parameters: Mapping[str, Any]) -> FedtextError:
    where = ".".join(filter(None, [group, *map(str, found["loc"])]))
    given, said = found["input"], str(found["msg"])
    own = found.get("ctx", {}).get("error")
    if isinstance(own, FedtextError):
        return own
    if found["type"] == "extra_forbidden":
        return unknown_parameter(where, parameters)
    if found["type"] == "missing":
        return InputError(f"{where} is not set: give it a value", code="parameter-not-set", parameter=where)
    if found["type"] == "literal_error":
        remedy = did_you_mean(given, _QUOTED.findall(found["ctx"]["expected"]))
        return InputError(f"{where} is {given!r}: {remedy}", code="unknown-choice", parameter=where, value=given)
    if found["type"] == "too_short":
        said = f"name at least {found['ctx']['min_length']}"
    for prefix in OF_PYDANTIC:
        said = said.removeprefix(prefix)
    if isinstance(own, Exception):  # of a validator; pydantic's own parsers put a string there
        return InputError(said, code="refused-by-model", parameter=where, value=given)
    fault = f"{said[:1].lower()}{said[1:]}"
    return InputError(f"{where} is {given!r}: {fault}", code="unfit-value", parameter=where, value=given)


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
