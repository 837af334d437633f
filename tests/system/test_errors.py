"""An error keeps its code, parameter and value, whatever built-in error it also is and wherever it is sent."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from fedtext.corpora.formats import JsonError
from fedtext.datasets.atomic import StorageError
from fedtext.largefedbench.ingest.errors import UnusableAnswerError
from fedtext.largefedbench.raw_pages import RawPageError
from fedtext.models.endpoint import EndpointError
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import open_ledger
from fedtext.system.errors import FedtextError, InputError, MissingFileError, UnreadableFileError
from fedtext.system.refusal import RunRefusedError, faults_of
from fedtext.wiring.guard.watch import SideEffectRefusedError
from tests.parameters import conf_base
from tests.refusals import refuses

SAID = "rounds is 0: give 1 or more"


def overdrawn() -> FedtextError:
    from tests.privacy.test_ledger import release

    with refuses("budget-exceeded") as caught:
        open_ledger(conf_base(Privacy, epsilon=0.1), 100, [release(1, 1.0)])
    assert isinstance(caught.value, FedtextError)
    return caught.value


ERRORS: list[Callable[[], FedtextError]] = [
    lambda: InputError(SAID, code="rounds-out-of-range", parameter="popri.rounds", value=0),
    lambda: UnreadableFileError(SAID, code="disk-full", errno=ENOSPC),
    lambda: MissingFileError(SAID, code="no-file", value="a.csv"),
    lambda: RunRefusedError(
        SAID, code="refused", faults=[InputError("one", code="one"), InputError("two", code="two")]
    ),
    lambda: SideEffectRefusedError(SAID, code="side-effect"),
    lambda: StorageError(SAID, code="not-a-model"),
    lambda: EndpointError(SAID, code="endpoint-busy"),
    lambda: JsonError(Path("a.json"), "line 1", "not JSON", code="not-json"),
    lambda: RawPageError("uk/a.xml", "cut off", code="cut-off"),
    lambda: UnusableAnswerError("too large", code="too-large", retry_after=2.0, final=True),
    overdrawn,
]


@pytest.mark.parametrize("make", ERRORS)
@pytest.mark.parametrize("sent", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
def test_an_error_is_the_same_in_another_process(
    make: Callable[[], FedtextError], sent: Callable[[FedtextError], FedtextError]
) -> None:
    error = make()
    there = sent(error)
    assert type(there) is type(error)
    assert str(there) == str(error)
    named = {name: value for name, value in vars(error).items() if name != "faults"}
    assert {name: vars(there)[name] for name in named} == named
    assert [fault.code for fault in getattr(there, "faults", ())] == [
        fault.code for fault in getattr(error, "faults", ())
    ]
    assert getattr(there, "errno", None) == getattr(error, "errno", None)


@pytest.mark.parametrize(
    ("kind", "built_in"),
    [
        (InputError, ValueError),
        (UnreadableFileError, OSError),
        (MissingFileError, FileNotFoundError),
        (RunRefusedError, RuntimeError),
        (SideEffectRefusedError, PermissionError),
        (EndpointError, OSError),
    ],
)
def test_an_error_is_also_the_one_that_python_programmers_expect(kind: type[FedtextError], built_in: type) -> None:
    error = kind(SAID, code="of-some-kind", value=0)
    assert isinstance(error, built_in)
    assert (str(error), error.code, error.parameter, error.value) == (SAID, "of-some-kind", None, 0)


def test_an_error_without_a_code_cannot_be_made() -> None:
    with pytest.raises(TypeError):
        InputError(SAID)  # type: ignore[call-arg]


def test_an_error_inside_a_pydantic_model_keeps_its_parts() -> None:
    class Rounds(BaseModel):
        rounds: int

        @field_validator("rounds")
        @classmethod
        def _some(cls, rounds: int) -> int:
            raise InputError(SAID, code="rounds-out-of-range", parameter="popri.rounds", value=rounds)

    with pytest.raises(ValidationError) as caught:
        Rounds(rounds=0)
    (fault,) = faults_of(caught.value)
    assert (fault.code, fault.parameter, fault.value) == ("rounds-out-of-range", "popri.rounds", 0)


def test_what_a_test_expects_must_be_what_was_raised() -> None:
    for expected in (refuses("another"), refuses("one", parameter="p"), refuses("one", value=2)):
        with pytest.raises(AssertionError), expected:
            raise InputError(SAID, code="one", parameter="q", value=1)
