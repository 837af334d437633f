"""What a test expects of a refusal: the code of the error, its parameter and its value, and no word of its sentence."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from fedtext.system.errors import FedtextError
from fedtext.system.refusal import RunRefusedError, faults_of

Refuses = pytest.RaisesExc[FedtextError | ValidationError]


def refuses(
    code: str, *, parameter: str | None = None, value: object = None, error: type[FedtextError] = FedtextError
) -> Refuses:
    """Return `pytest.raises` for an error with this code, alone or among the faults that a refusal lists.

    Args:
        code: The kind of fault.
        parameter: The parameter that must be at fault, if the test is about which.
        value: The value that must be at fault, if the test is about which.
        error: The class that is raised; a pydantic model raises its own, with ours inside.
    """

    def _is_it(raised: FedtextError | ValidationError) -> bool:
        found = [(one.code, one.parameter, one.value) for one in faults_in(raised)]
        wanted = (code, parameter, value)
        said = any(all(want in (None, has) for want, has in zip(wanted, one, strict=True)) for one in found)
        assert said, f"{wanted} is expected, and refused is {found}: {raised}"
        return True

    return pytest.raises((error, ValidationError), check=_is_it)


def faults_in(raised: FedtextError | ValidationError) -> list[FedtextError]:
    """Return the error itself, or what a pydantic model found, with the faults that a refusal lists."""
    if isinstance(raised, ValidationError):
        return faults_of(raised)
    return [raised, *(raised.faults if isinstance(raised, RunRefusedError) else ())]
