"""An exercise as one text: what is laid out is read again, and what is none is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.exercises import Exercise, exercise_in

WORDS = st.lists(st.sampled_from(["the", "red", "(ferry)", "sailed", "at", "3.50", "dusk?"]), min_size=1, max_size=5)


@given(WORDS, WORDS, WORDS, WORDS)
def test_what_is_laid_out_is_read_again(
    question: list[str], answer: list[str], left: list[str], right: list[str]
) -> None:
    exercise = Exercise(" ".join(question), " ".join(answer), " ".join([*left, *answer, *right]))
    assert exercise_in(exercise.text) == exercise
    begin, end = exercise.span or (0, 0)
    assert exercise.passage[begin:end] == exercise.answer


def test_lines_capitals_and_what_follows_the_answer_do_not_matter() -> None:
    found = exercise_in(
        "Passage: At dusk\nthe ferry sailed.\n\nQuestion: Who sailed? Answer: The  Ferry.\nIs that right?"
    )
    assert found == Exercise("Who sailed?", "The Ferry", "At dusk the ferry sailed.")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Who sailed? The ferry sailed.",
        "Question: Who sailed? Passage: The ferry sailed. Answer: the ferry",
        "Passage: Question: Who sailed? Answer: the ferry",
        "Passage: The ferry sailed. Question: Who sailed? Answer:",
        "Passage: The ferry sailed. Question: Who sailed? Answer: .",
        "Passage: The ferry sailed. Question: Who sailed? Answer: the swan",
        "Write one. Passage: The ferry sailed. Question: Who sailed? Answer: the ferry",
    ],
)
def test_what_is_no_exercise_is_none(text: str) -> None:
    assert exercise_in(text) is None
