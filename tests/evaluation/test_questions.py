"""Held-out questions: what is asked, and how answers count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedtext.corpora.exercises import Exercise
from fedtext.evaluation import questions
from fedtext.evaluation.measures.known import measure
from fedtext.evaluation.measures.questions import ANSWER_EXACT, ANSWER_F1
from fedtext.evaluation.questions import compare_questions, exercises_in, question_scores
from fedtext.params.questions import Questions
from tests.parameters import conf_base
from tests.training.test_reader import exercises

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
    monkeypatch.setattr(questions, "trained_reader", lambda *_, **__: Parrot())
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
    with pytest.raises(ValueError, match=r"no held-out text is an exercise .*corpus.source=squad_questions"):
        question_scores([], [PLAIN], ENCODER, conf_base(Questions), seed=0, label="texts")


def test_measures_have_their_names() -> None:
    assert measure("answer_f1") is ANSWER_F1
    assert measure("answer_exact") is ANSWER_EXACT
