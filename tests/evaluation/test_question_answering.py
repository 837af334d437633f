"""Answers are compared as SQuAD compares them; the examples were worked out by hand from the paper's section 6.1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.evaluation.question_answering import exact_match, f1, normalised

WORDS = st.lists(st.sampled_from(["the", "a", "red", "Ferry,", "sailed.", "at", "dusk"]), max_size=6).map(" ".join)


@pytest.mark.parametrize(
    ("answer", "compared"),
    [
        ("The  Cat.", "cat"),
        ("an apple a day", "apple day"),
        ("U.S.", "us"),
        ("theatre", "theatre"),
        ("a", ""),
        ("", ""),
    ],
)
def test_normalisation(answer: str, compared: str) -> None:
    assert normalised(answer) == compared


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("the red ferry", "Red ferry.", 1.0),
        ("red ferry", "blue ferry", 0.5),
        ("ferry ferry", "ferry", 2 / 3),
        ("dusk", "dawn", 0.0),
        ("", "dusk", 0.0),
        ("the", "a", 1.0),
    ],
)
def test_f1_of_words(answer: str, reference: str, expected: float) -> None:
    assert f1(answer, reference) == pytest.approx(expected)


@given(WORDS, WORDS)
def test_f1_is_symmetric_and_one_where_answers_match(a: str, b: str) -> None:
    assert f1(a, b) == pytest.approx(f1(b, a))
    assert 0 <= f1(a, b) <= 1
    assert f1(a, a) == exact_match(a, a) == 1
    assert exact_match(a, b) <= f1(a, b)
