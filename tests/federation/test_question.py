"""A question is data: it comes back from its bytes, asks the same, and no other class is answered."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.question import Question, kind_of, question_parts, read_question
from fedtext.federation.units import Block
from fedtext.silo.known import QUESTIONS
from fedtext.voting.class_means import ClassMeans
from tests.refusals import refuses
from tests.silo.examples import CODES, every_question, unit_rows

TEXTS = [f"record {i} tells of {'rain' if i % 2 else 'snow'}" for i in range(20)]


def held(question: Question) -> PrivateSamples:
    unit, label = np.arange(20) // 3, np.arange(20) % 3 - 1
    return PrivateSamples(question.seen(TEXTS, unit_rows(7, 20)), unit, label, np.unique(unit))


def again(question: Question) -> Question:
    fields, arrays = question_parts(question)
    return read_question(kind_of(type(question)), fields, arrays, QUESTIONS)


@pytest.mark.parametrize("question", every_question(), ids=lambda one: type(one).__name__)
def test_a_question_that_travelled_asks_every_unit_for_the_same_numbers(question: Question) -> None:
    read = again(question)
    assert type(read) is type(question)
    assert tuple(read.classes) == CODES
    before, after = list(question.blocks(held(question))), list(read.blocks(held(read)))
    assert sum(len(block.unit) for block in before) == 7
    for one, other in zip(before, after, strict=True):
        assert one.unit.tobytes() == other.unit.tobytes()
        assert one.rows.tobytes() == other.rows.tobytes()


def test_every_known_question_is_among_them() -> None:
    assert {type(one) for one in every_question()} == {one for one in QUESTIONS if issubclass(one, Question)}


class Everything(Question):
    """A question that nobody has agreed to answer."""

    def blocks(self, held: PrivateSamples) -> list[Block]:
        return [Block(held.unit, held.features)]


def test_a_class_that_is_not_known_is_refused_by_its_name() -> None:
    with refuses("unknown-question", value=kind_of(Everything)):
        again(Everything())
    with refuses("unknown-question", value="x" * 100):
        read_question("x" * 10**6, {}, {}, QUESTIONS)


@pytest.mark.parametrize("fields", [{}, {"labels": 3}, {"labels": ["a"], "more": 1}])
def test_fields_of_another_class_are_refused(fields: dict[str, object]) -> None:
    with refuses("faulty-question"):
        read_question(kind_of(ClassMeans), fields, {}, QUESTIONS)


def test_an_array_that_is_not_asked_for_is_refused() -> None:
    with refuses("faulty-question"):
        read_question(kind_of(ClassMeans), {"labels": ["a"]}, {"extra": np.zeros(2)}, QUESTIONS)
