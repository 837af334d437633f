"""Held-out questions: what is asked, and how answers count.

Answers are compared as SQuAD compares them; the examples were worked out by hand from the paper's section 6.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.exercises import Exercise
from fedtext.evaluation import questions
from fedtext.evaluation.measures.downstream import ANSWER_EXACT, ANSWER_F1
from fedtext.evaluation.measures.known import measure
from fedtext.evaluation.questions import compare_questions, exact_match, exercises_in, f1, normalised, question_scores
from fedtext.params.evaluation import Questions
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.training.test_extractive_qa import exercises

PLAIN = "The ferry sailed at dusk."
ENCODER: Any = None  # nothing here is read by a model


def test_exercises_are_found_among_texts_and_drawn_in_their_order() -> None:
    texts = [one.text for one in exercises(12, seed=1)]
    mixed = [PLAIN, *texts[:6], PLAIN, *texts[6:]]
    assert exercises_in(mixed, None, seed=0) == exercises_in(texts, None, seed=0) == exercises(12, seed=1)
    some = exercises_in(mixed, 5, seed=0)
    assert some == exercises_in(mixed, 5, seed=0) == [one for one in exercises(12, seed=1) if one in some]
    assert len(some) == 5


class Parrot:
    """A reader that has learned to give the first two words of every passage."""

    def answers(self, asked: list[Exercise]) -> list[str]:
        return [" ".join(one.passage.split()[:2]) for one in asked]


def test_only_exercises_are_asked_and_answers_count_as_squad_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "train_extractive_qa", lambda *_, **__: Parrot())
    held_out = [
        PLAIN,
        Exercise("Who sailed?", "the ferry", "The ferry sailed at dusk.").text,
        Exercise("What sank?", "a red ferry", "Red sky: a red ferry sank.").text,
        Exercise("When?", "at dusk", "Nobody knew; at dusk it sailed.").text,
    ]
    lessons, scored = {"synthetic": exercises(3, seed=1), "public_control": []}, {}
    for name, own in lessons.items():
        scored[name] = question_scores(own, held_out, ENCODER, conf_base(Questions), seed=0, label=name)
    ours, none = scored["synthetic"], scored["public_control"]
    assert ours["asked"].tolist() == none["asked"].tolist() == [0, 1, 1, 1]
    assert ours["answer_f1"].tolist() == pytest.approx([0, 1, 0.5, 0])
    assert ours["answer_exact"].tolist() == [0, 1, 0, 0]
    assert none["answer_f1"].tolist() == [0, 0, 0, 0]  # without a lesson nothing is answered
    document = compare_questions(scored, np.arange(4))
    told = document["conditions"]["synthetic"]
    assert (told["answer_f1"], told["answer_exact"]) == pytest.approx((0.5, 1 / 3))
    assert (told["texts"], told["questions"], document["judged"]) == (3, 3, "synthetic")
    assert 0 <= told["low"] <= told["answer_f1"] <= told["high"] <= 1
    assert document["gains"]["synthetic"]["public_control"]["estimate"] == pytest.approx(0.5)


def test_held_out_text_without_a_question_is_refused() -> None:
    with refuses("no-exercise-held-out"):
        question_scores([], [PLAIN], ENCODER, conf_base(Questions), seed=0, label="texts")


def test_measures_have_their_names() -> None:
    assert measure("answer_f1") is ANSWER_F1
    assert measure("answer_exact") is ANSWER_EXACT


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
