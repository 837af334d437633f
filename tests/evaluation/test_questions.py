"""Held-out questions: what is asked, how answers count, and that lessons which say more are worth more."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.evaluation.measures.known import measure
from fedtext.evaluation.measures.questions import ANSWER_EXACT, ANSWER_F1
from fedtext.evaluation.questions import compare_questions, exercises_in, question_scores
from fedtext.models.encoder import load_encoder
from fedtext.params.questions import Questions
from tests.parameters import conf_base
from tests.training.test_reader import LESSONS, STEPS, exercises

PLAIN = "The ferry sailed at dusk."


def test_exercises_are_found_among_texts_and_drawn_in_their_order() -> None:
    texts = [one.text for one in exercises(12, seed=1)]
    mixed = [PLAIN, *texts[:6], PLAIN, *texts[6:]]
    assert exercises_in(mixed, None, seed=0) == exercises_in(texts, None, seed=0) == exercises(12, seed=1)
    some = exercises_in(mixed, 5, seed=0)
    assert some == exercises_in(mixed, 5, seed=0) == [one for one in exercises(12, seed=1) if one in some]
    assert len(some) == 5


def test_only_exercises_are_asked_and_lessons_pay() -> None:
    encoder, questions = load_encoder("offline"), conf_base(Questions, fine_tuning=STEPS)
    held_out = [PLAIN, *(one.text for one in exercises(24, seed=2)), PLAIN]
    asked = np.asarray([0, *[1] * 24, 0])
    scored = {
        name: question_scores(exercises(count, seed=1), held_out, encoder, questions, seed=0, label=name)
        for name, count in (("synthetic", LESSONS), ("public_control", 0))
    }
    for one in scored.values():
        assert (one["asked"] == asked).all()
        assert (one["answer_f1"] <= asked).all()
        assert (one["answer_exact"] <= one["answer_f1"]).all()
    document = compare_questions(scored, np.arange(26))
    ours, none = document["conditions"]["synthetic"], document["conditions"]["public_control"]
    assert ours["answer_f1"] == pytest.approx(scored["synthetic"]["answer_f1"].sum() / 24)
    assert ours["answer_f1"] > 0.7
    assert 0 <= ours["low"] <= ours["answer_f1"] <= ours["high"] <= 1
    assert (none["answer_f1"], none["answer_exact"], none["texts"]) == (0, 0, 0)
    assert document["gains"]["synthetic"]["public_control"]["measurable"]
    assert document["judged"] == "synthetic"


def test_held_out_text_without_a_question_is_refused() -> None:
    with pytest.raises(ValueError, match=r"none of 1 held-out texts is an exercise .*corpus.source=squad_questions"):
        question_scores([], [PLAIN], load_encoder("offline"), conf_base(Questions), seed=0, label="texts")


def test_measures_have_their_names() -> None:
    assert measure("answer_f1") is ANSWER_F1
    assert measure("answer_exact") is ANSWER_EXACT
