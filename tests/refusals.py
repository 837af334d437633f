"""What a test expects of a refusal: the code of the error, its parameter and its value, and no word of its sentence."""

from __future__ import annotations

import pytest
from kedro.io import DatasetError
from pydantic import ValidationError

from fedtext.system.errors import FedtextError
from fedtext.system.refusal import RunRefusedError, faults_of

Refuses = pytest.RaisesExc[FedtextError | ValidationError | DatasetError]


def refuses(code: str, *, parameter: str | None = None, value: object = None) -> Refuses:
    """Return `pytest.raises` for an error with this code, alone or among the faults that a refusal lists.

    A pydantic model raises an error of its own with ours inside; a data set of Kedro's, one that ours caused.

    Args:
        code: The kind of fault.
        parameter: The parameter that must be at fault, if the test is about which.
        value: The value that must be at fault, if the test is about which.
    """

    def _is_it(raised: BaseException) -> bool:
        found = [(one.code, one.parameter, one.value) for one in faults_in(raised)]
        wanted = (code, parameter, value)
        said = any(all(want in (None, has) for want, has in zip(wanted, one, strict=True)) for one in found)
        assert said, f"{wanted} is expected, and refused is {found}: {raised}"
        return True

    return pytest.raises((FedtextError, ValidationError, DatasetError), check=_is_it)


def faults_in(raised: BaseException | None) -> list[FedtextError]:
    """Return our error, itself or the cause of another, or what a pydantic model found, with all faults listed."""
    if raised is None or isinstance(raised, ValidationError):
        return faults_of(raised) if raised else []
    if not isinstance(raised, FedtextError):
        return faults_in(raised.__cause__)
    return [raised, *(raised.faults if isinstance(raised, RunRefusedError) else ())]
