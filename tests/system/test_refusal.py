"""What a user is told: our own sentences and full disks; a library's errors keep their traceback."""

from __future__ import annotations

import errno
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel

from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.seeding import stream
from fedtext.system.errors import InputError
from fedtext.system.refusal import CONSTANTS, explanation, parameter_faults, parameters_refusal, unknown_parameter
from fedtext.voting.selection import herd
from fedtext.wiring.conf_files import deep_merge
from tests.parameters import HOMES, conf_base, parameters

ROOT = Path("/some/data")


def caught(action: object, *arguments: object) -> BaseException:
    with pytest.raises(Exception) as found:  # noqa: PT011 - any error will do
        action(*arguments)  # type: ignore[operator]
    return found.value


def test_what_this_package_raises_explains_itself(tmp_path: Path) -> None:
    from fedtext.corpora.table import read_table
    from fedtext.params.corpus import Corpus

    error = caught(read_table, conf_base(Corpus, source="table", path=str(tmp_path / "mine.csv")))
    told = explanation(error, ROOT)
    assert told is not None
    assert str(told) == str(error)
    assert (told.code, told.parameter, told.value) == ("missing-table", "corpus.path", str(tmp_path / "mine.csv"))


def test_a_sentence_that_a_library_has_wrapped_is_still_found(tmp_path: Path) -> None:
    from fedtext.datasets.models import LanguageModelDataset

    error = caught(LanguageModelDataset(source=str(tmp_path / "gone")).exists)
    told = explanation(error, ROOT)
    assert told is not None
    assert (told.code, told.value) == ("no-model-directory", str(tmp_path / "gone"))


def test_a_library_error_is_not_shortened() -> None:
    assert explanation(caught(int, "no number"), ROOT) is None
    assert explanation(caught(herd, None, None, 3), ROOT) is None, "it fails in this package, but nothing is explained"
    assert explanation(caught(stream), ROOT) is None


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"),
        RuntimeError("(sqlite3.OperationalError) database or disk is full"),
    ],
)
def test_a_full_disk_is_named_whoever_met_it(error: Exception) -> None:
    wrapped = RuntimeError("Failed while saving data")
    wrapped.__cause__ = error
    told = explanation(wrapped, ROOT)
    assert told is not None
    assert (told.code, told.parameter, told.value) == ("disk-of-data-root-full", "data_root", "/some/data")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_place_in_the_data_root_that_is_another_user_s_is_named(number: int) -> None:
    told = explanation(OSError(number, "Permission denied", "/some/data/.fedtext/lock"), ROOT)
    assert told is not None
    assert (told.code, told.value) == ("data-root-closed", "/some/data/.fedtext/lock")
    assert explanation(OSError(number, "Permission denied", "/some/where/else"), ROOT) is None


def test_parameter_faults_are_sentences_with_full_names() -> None:
    small = {"rounds": 1, "prompts": 2, "responses": 4, "rejected_rank": 4, "synthetic_texts": 5}
    parameters = {
        "privacy": conf_base(Privacy).model_dump() | {"epsilon": 0, "adjacency": "add"},
        "popri": conf_base(Popri, small).model_dump() | {"responses": 3, "round": 3},
    }
    faults = parameter_faults(parameters, {"privacy": Privacy, "popri": Popri, "data_root": str})
    assert [(fault.code, fault.parameter, fault.value) for fault in faults] == [
        ("unknown-choice", "privacy.adjacency", "add"),
        ("unfit-value", "privacy.epsilon", 0),
        ("unknown-parameter", "popri.round", None),
    ]
    assert list(map(str, faults)) == [
        "privacy.adjacency is 'add': choose one of add_remove, replace_one, zero_out",
        "privacy.epsilon is 0: input should be greater than 0",
        "popri.round is no parameter of popri: did you mean 'rounds'?",
    ]
    del parameters["popri"]["round"]
    (fault,) = parameter_faults(parameters, {"popri": Popri})
    assert (fault.code, fault.parameter, fault.value) == ("rejected-rank-above-responses", "popri.rejected_rank", 4)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("epsilon", "privacy.epsilon"),
        ("population", "privacy.population"),
        ("description", "corpus.description"),
        ("delta", "privacy.delta"),
    ],
)
def test_a_parameter_without_its_group_is_not_taken_for_a_misspelt_group(given: str, meant: str) -> None:
    assert f"'{meant}'" in str(unknown_parameter(given, parameters()))
    assert "'popri'" in str(unknown_parameter("popry", parameters()))


@pytest.mark.parametrize(("name", "place"), CONSTANTS.items())
def test_a_parameter_that_became_a_constant_says_where_it_is(name: str, place: str) -> None:
    module, _, constant = place.rpartition(".")
    assert isinstance(getattr(import_module(module), constant), int)
    group = name.partition(".")[0]
    kind = next(kind for kind, home in HOMES.items() if home == group)
    given = reduce(lambda inner, key: {key: inner}, reversed(name.split(".")), cast("Any", 1))
    (fault,) = parameter_faults(deep_merge(parameters(), given), {group: kind})
    assert (fault.code, fault.parameter) == ("parameter-became-constant", name)
    assert place in str(fault)


def test_a_nested_parameter_is_found_by_its_dotted_name() -> None:
    class Size(BaseModel):
        width: int

    (fault,) = parameter_faults({"a": {"b": {}}}, {"a.b": Size})
    assert (fault.code, fault.parameter) == ("parameter-not-set", "a.b.width")


def misspelt(group: str) -> InputError:
    name = f"{group}.prompt"
    return InputError(f"{name} is 'lists': did you mean 'list'?", code="unknown-choice", parameter=name, value="lists")


def test_one_value_of_many_places_is_told_once() -> None:
    faults = [misspelt(group) for group in "abcde"]
    other = InputError("popri.rounds is 0: from 1 to 200", code="unfit-value", parameter="popri.rounds", value=0)
    told = parameters_refusal([*faults, other])
    assert str(told).count("did you mean 'list'?") == 1
    assert "a.prompt (as 4 other parameters) is 'lists'" in str(told)
    assert [(fault.code, fault.parameter) for fault in told.faults] == [
        ("unknown-choice", "a.prompt"),
        ("unfit-value", "popri.rounds"),
    ]
    assert str(parameters_refusal(faults[:3])).count("did you mean") == 3


def test_the_refusal_of_one_fault_is_that_fault() -> None:
    (fault,) = faults = [misspelt("a")]
    told = parameters_refusal(faults)
    assert str(told) == str(fault)
    assert (told.code, told.parameter, told.value, told.faults) == (fault.code, fault.parameter, fault.value, ())
