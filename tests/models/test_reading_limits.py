"""What is said, and refused, of a model that reads less at once than a sample or a list of samples may have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.models.reading_limits import (
    FRAME,
    READINGS,
    Beyond,
    ReadingLimit,
    readings,
    validate_list_length,
    validate_script,
)
from fedtext.system.errors import InputError
from tests.parameters import parameters
from tests.refusals import refuses

WRITER, ENCODER = ReadingLimit("generator", 1024, Beyond.REFUSED), ReadingLimit("encoder", 256, Beyond.WINDOWS)


def test_a_sample_that_is_read_as_a_whole_or_not_at_all_is_refused_with_both_numbers() -> None:
    assert WRITER.note_for(1023) is None
    with refuses("chunks-too-long", parameter="chunking.length", value=1024):
        WRITER.note_for(1024)


def test_a_sample_that_is_read_by_windows_is_spoken_of() -> None:
    assert ENCODER.note_for(255) is None
    said = ENCODER.note_for(400)
    assert said is not None
    assert "'encoder' reads 256 tokens at once and chunking.length is 400" in said


def test_a_reader_without_a_limit_reads_anything() -> None:
    free = ReadingLimit("generator", None, Beyond.REFUSED)
    assert free.note_for(10**6) is None
    validate_list_length(free, listed=6, length=10**6, new_tokens=72, asked_by="pe_sft")


@given(st.integers(1, 12), st.integers(4, 3000), st.integers(4, 400), st.integers(64, 8192))
def test_the_length_that_a_refusal_names_would_do(listed: int, length: int, new: int, limit: int) -> None:
    reader = ReadingLimit("generator", limit, Beyond.REFUSED)
    fits = listed * (length + FRAME) + new < limit
    try:
        validate_list_length(reader, listed=listed, length=length, new_tokens=new, asked_by="popri")
    except InputError as error:
        assert not fits
        told = int(str(error).partition("lower chunking.length to ")[2].partition(",")[0])
        assert told < length
        if told >= 1:
            validate_list_length(reader, listed=listed, length=told, new_tokens=new, asked_by="popri")
            with pytest.raises(InputError):
                validate_list_length(reader, listed=listed, length=told + 1, new_tokens=new, asked_by="popri")
    else:
        assert fits


def test_an_encoder_that_knows_too_little_is_refused_with_another() -> None:
    validate_script(0.25, "offline", "the public samples")
    with refuses("unknown-script", value="offline"):
        validate_script(0.74, "offline", "x")


def test_a_run_s_readings_are_those_of_its_models_and_parameters() -> None:
    values = {"chunking.length": 64, "dp_ft.tokens.prompt": 96, "dp_ft.tokens.answer": 32}
    found = readings(["encoder", "on_device", "downstream", "classifier"], values.get)
    assert [(one.reader, one.cuts) for one, _ in found] == [
        ("encoder", False),
        ("on_device", False),
        ("downstream", True),
        ("downstream", True),
    ]
    assert found[1][1] == "every sample whole, in windows of 64 of its own tokens"
    assert found[3][1] == "the first 32 of its tokens of a pair's answer"


@pytest.mark.parametrize(("kind", "read"), [("fine_tuned", 1), ("embeddings", 0)])
def test_a_classifier_reads_a_part_where_it_is_fine_tuned(kind: str, read: int) -> None:
    values = {"classification.training.length": 128, "classification.training.kind": kind}
    assert len(readings(["classifier"], values.get)) == read


def test_every_parameter_that_bounds_a_reading_has_a_default() -> None:
    for name in {name for one in READINGS for name in (one.parameter, *(one.where or ())[:1])}:
        value: Any = parameters()
        for group in str(name).split("."):
            value = value[group]
        assert value is not None
