"""Whether a question can be answered depends on the question alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fedtext.algorithms.wasp.judging import TopQVotes
from fedtext.federation.inquiry import Answer, AskedQuery, Inquiry, Refusal, read_reply
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.question import Question
from fedtext.federation.units import Block
from fedtext.params.wasp import Wasp
from fedtext.privacy.history import release_history
from fedtext.silo import rehearsal
from fedtext.silo.handler import MessageHandler
from fedtext.silo.rehearsal import UNANSWERABLE, validate_answerable
from fedtext.voting.class_means import ClassMeans, class_sum_blocks
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.silo.examples import DIM, every_question, silo, table, unit_rows
from tests.silo.test_handler import width


def asked(handler: MessageHandler, question: Question, dim: int) -> Answer | Refusal:
    query = Query("test.sum", 1, dim, clip_norm=1.0, noise_multiplier=1e6)
    reply = read_reply(handler.reply(Inquiry(AskedQuery.of(query), question).packed()))
    assert isinstance(reply, Answer | Refusal)
    return reply


def truths(label: str) -> TopQVotes:
    """Votes on candidates of truth values: only where somebody's text has the label a vote is tried, and fails."""
    wasp = conf_base(Wasp, rounds=3, labels=(label,))
    return TopQVotes(wasp=wasp, embeddings=np.ones((4, DIM), dtype=bool), label=np.zeros(4, dtype=np.int64))


@pytest.mark.parametrize("label", ["a", "of nobody"])
def test_a_question_that_fails_does_not_tell_who_is_there(place: Path, label: str) -> None:
    handler = MessageHandler(silo("north"), place)
    refused = asked(handler, truths(label), dim=8)
    assert isinstance(refused, Refusal)
    assert refused.code == UNANSWERABLE
    assert not release_history(handler.folder)


@pytest.mark.parametrize("question", every_question(), ids=lambda one: type(one).__name__)
def test_every_known_question_passes_at_its_own_width_alone(question: Question) -> None:
    dim = width(question)
    validate_answerable(question, dim, DIM)
    with refuses(UNANSWERABLE):
        validate_answerable(question, dim + 1, DIM)


def test_a_question_of_another_encoder_is_refused(place: Path) -> None:
    (other,) = (one for one in every_question(dim=DIM + 1) if type(one) is TopQVotes)
    refused = asked(MessageHandler(silo("north"), place), other, dim=24)
    assert isinstance(refused, Refusal)
    assert refused.code == UNANSWERABLE


def test_candidates_that_nobody_can_vote_for_get_noise(place: Path) -> None:
    (some,) = (one for one in every_question() if type(one) is TopQVotes)
    empty = some.model_copy(update={"embeddings": np.zeros_like(some.embeddings)})
    assert isinstance(asked(MessageHandler(silo("north"), place), empty, width(some)), Answer)


@pytest.mark.parametrize("population", [30, 3300])
def test_how_long_an_answer_takes_does_not_tell_who_is_there(
    place: Path, monkeypatch: pytest.MonkeyPatch, population: int
) -> None:
    """By the clock of a machine on which each passage of the asked class takes a second, and nothing else any time."""
    now = 0.0

    def blocks(question: Question, held: PrivateSamples) -> Iterable[Block]:
        nonlocal now
        now += float((held.label >= 0).sum())
        return class_sum_blocks(held, len(question.classes))

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(ClassMeans, "blocks", blocks)
    monkeypatch.setattr(rehearsal, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    handler, took = MessageHandler(silo("north", protection={"population": population}), place), []
    for label in ("a", "of nobody", "b", "a"):
        began = now
        assert isinstance(asked(handler, ClassMeans(labels=(label,)), DIM), Answer)
        took.append(now - began)
    assert len(set(took)) == 1
    assert took[0] >= 3 * 10


def test_nor_does_how_long_it_takes_to_read_the_texts(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the clock of a machine on which a question reads a text a second, and does nothing else."""
    now = 0.0

    def seen(_: Question, texts: Sequence[str], embeddings: np.ndarray) -> np.ndarray:
        nonlocal now
        now += len(texts)
        return embeddings

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(ClassMeans, "seen", seen)
    monkeypatch.setattr(rehearsal, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    monkeypatch.setattr("fedtext.silo.local_data._embeddings", lambda samples, *_: unit_rows(1, len(samples)))
    took = set()
    for rows in (20, 12):
        table("north")[:rows].to_csv(place / "north.csv", index=False)
        handler = MessageHandler(silo("north", protection={"population": 30}), place)
        began = now
        assert isinstance(asked(handler, ClassMeans(labels=("a",)), DIM), Answer)
        assert len(handler.local_data().samples) == rows
        took.add(now - began)
    assert len(took) == 1
