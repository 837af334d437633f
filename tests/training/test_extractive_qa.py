"""A reader of real weights: it learns to answer from a handful of exercises, and its spans are those of the passage."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedtext.corpora.exercises import Exercise
from fedtext.models.encoder import Encoder, load_encoder
from fedtext.params.evaluation import Questions
from fedtext.training.extractive_qa import likeliest, train_extractive_qa
from tests.parameters import conf_base
from tests.refusals import refuses

NAMES = ["Anna", "Boris", "Clara", "David", "Emma", "Felix", "Greta", "Henry"]
PLACES = ["Lisbon", "Oslo", "Vienna", "Cairo", "Lima", "Dublin", "Tokyo", "Prague"]
JOBS = ["nurse", "baker", "pilot", "judge", "painter", "farmer", "sailor", "teacher"]
STEPS = {"epochs": 4.0, "batch_size": 16, "learning_rate": 1e-3}
LESSONS = 64  # are enough for these steps


def exercises(count: int, seed: int) -> list[Exercise]:
    """Who lives where, or does what, in two sentences about two people."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        (a, b), (x, y), (p, q) = (rng.choice(words, 2, replace=False) for words in (NAMES, PLACES, JOBS))
        passage = f"{a} is a {p} and lives in {x}. {b} is a {q} and lives in {y}."
        asked = [(f"Where does {b} live?", y), (f"What is {a}'s job?", p)]
        question, answer = asked[int(rng.integers(2))]
        found.append(Exercise(question, answer, passage))
    return found


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("offline")


def right(encoder: Encoder, lessons: list[Exercise], questions: Questions, held_out: list[Exercise]) -> float:
    given = train_extractive_qa(encoder, lessons, questions, seed=1, label="test").answers(held_out)
    return float(np.mean([answer == one.answer for answer, one in zip(given, held_out, strict=True)]))


@pytest.mark.slow
def test_it_learns_to_answer_and_wrong_lessons_teach_nothing(encoder: Encoder) -> None:
    questions, held_out = conf_base(Questions, fine_tuning=STEPS), exercises(40, seed=2)
    lessons = exercises(LESSONS, seed=1)
    untrue = [one._replace(answer=one.passage.split()[0]) for one in lessons]
    assert right(encoder, lessons, questions, held_out) > 0.8
    assert right(encoder, untrue, questions, held_out) < 0.2


def test_the_same_seed_gives_the_same_reader_and_the_encoder_stays_as_it_is(encoder: Encoder) -> None:
    before = encoder.encode(["the ferry sailed"])
    questions, lessons = conf_base(Questions, fine_tuning=STEPS | {"epochs": 1.0}), exercises(16, seed=1)
    held_out = exercises(8, seed=3)
    first, again = (train_extractive_qa(encoder, lessons, questions, seed=5, label="test") for _ in range(2))
    assert first.answers(held_out) == again.answers(held_out)
    assert (encoder.encode(["the ferry sailed"]) == before).all()


def test_answers_are_spans_of_a_passage_and_what_was_cut_off_teaches_nothing(encoder: Encoder) -> None:
    questions = conf_base(Questions, length=16, answer_length=2, fine_tuning=STEPS | {"epochs": 1.0})
    long = [Exercise("Who sailed?", "the ferry", f"{'nobody knew ' * 30}that the ferry sailed")] * 8
    reader = train_extractive_qa(encoder, long, questions, seed=1, label="test")
    answer, none, _ = reader.answers([long[0], Exercise("Who?", "x", ""), Exercise("who " * 40, "x", "x " * 40)])
    assert answer in long[0].passage
    assert len(answer.split()) <= 2
    assert none == ""


def test_no_exercise_is_an_error(encoder: Encoder) -> None:
    with refuses("no-exercises"):
        train_extractive_qa(encoder, [], conf_base(Questions), seed=1, label="texts")


scores = arrays(np.float64, 7, elements=st.integers(-9, 9).map(float))


@given(scores, scores, st.integers(1, 9))
def test_the_likeliest_span_is_that_of_a_search(begins: np.ndarray, ends: np.ndarray, longest: int) -> None:
    begin, end = likeliest(begins, ends, longest)
    spans = [(i, j) for i, j in itertools.product(range(7), repeat=2) if 0 <= j - i < longest]
    assert (begin, end) in spans
    assert begins[begin] + ends[end] == max(begins[i] + ends[j] for i, j in spans)
