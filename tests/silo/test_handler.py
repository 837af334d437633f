"""A silo's handler: the same integers as one process, its own price, its own budget, and nothing but messages."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms.flexible.selection import NearestVotes
from fedtext.federation import charged_release
from fedtext.federation.inquiry import WHO, Answer, AskedQuery, Card, Inquiry, Refusal, read_reply
from fedtext.federation.packed import pack, unpack
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.question import Question
from fedtext.federation.secure_sum import GridSum, release_grid_sum
from fedtext.federation.units import Block
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import Privacy
from fedtext.privacy.accounting import epsilon
from fedtext.privacy.history import release_history
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.privacy.parties import Party
from fedtext.silo import handler as handlers
from fedtext.silo.audit_log import entries
from fedtext.silo.handler import KEY, MessageHandler
from fedtext.silo.rehearsal import UNANSWERABLE
from fedtext.system.alike import code_name
from fedtext.voting.class_means import ClassMeans
from tests.parameters import conf_base
from tests.silo.examples import CODES, DIM, NAMES, every_question, silo, table, unit_rows

SHARED = NoiseKey(secret=new_noise_key(7).secret, source="operating system")  # what only a test may share
MEANS = ClassMeans(labels=CODES)
QUESTIONS = every_question()


def width(question: Question) -> int:
    samples = PrivateSamples(
        question.seen(["some text"], unit_rows(0, 1)), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.arange(1)
    )  # fmt: skip
    (block,) = question.blocks(samples)
    return int(block.rows.shape[1])


def query(question: Question = MEANS, **changes: Any) -> Query:
    asked = Query("test.sum", 1, width(question), 1.0, 6.0, public_digest="of these")
    return replace(asked, **changes)


def inquiry(question: Question = MEANS, **changes: Any) -> Inquiry:
    return Inquiry(AskedQuery.of(query(question, **changes)), question)


def asked(handler: MessageHandler, question: Question = MEANS, **changes: Any) -> Answer | Refusal | Card:
    return read_reply(handler.reply(inquiry(question, **changes).packed()))


def in_one_process(place: Path, question: Question, **changes: Any) -> GridSum:
    """What one process gives that holds all three tables and knows the silos' names for the question."""
    held = [MessageHandler(silo(name), place).local_data().asked(question) for name in NAMES]
    columns = [min(one.features.shape[1] for one in held), max(one.features.shape[1] for one in held)]
    samples = PrivateSamples(
        np.concatenate([wider(one.features, columns[1]) for one in held]),
        *(np.concatenate([getattr(one, name) for one in held]) for name in ("unit", "label", "enrolled", "holder")),
    )
    declared = conf_base(Privacy, epsilon=4.0, delta=1e-5, aggregation="local")
    parties = tuple(Party(name=name, kind="silo", population=10, epsilon=4.0) for name in NAMES)
    ledger = Ledger(declaration=declared, population=30, parties=parties)
    named = query(question, **changes).about(inquiry(question, **changes).digest)
    return release_grid_sum(named, question.blocks, samples, ledger, SHARED)


def wider(rows: np.ndarray, columns: int) -> np.ndarray:
    """Rows of words' grams are as wide as the longest text of a table; all have the width in the last column."""
    missing = columns - rows.shape[1]
    if not missing:
        return rows
    filled = np.concatenate([rows[:, :-1], np.full((len(rows), missing), -1), rows[:, -1:] + missing], axis=1)
    return np.asarray(filled, dtype=rows.dtype)


def no_noise(_: NoiseKey, *, size: int, **__: Any) -> np.ndarray:
    return np.zeros(size, dtype=np.int64)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: type(one).__name__)
def test_three_desks_together_give_the_integers_of_one_process_before_noise(
    place: Path, question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charged_release, "discrete_gaussian", no_noise)
    answers = [asked(MessageHandler(silo(name), place, SHARED), question) for name in NAMES]
    assert all(isinstance(one, Answer) for one in answers)
    total = sum(one.sum for one in answers if isinstance(one, Answer))
    assert np.array_equal(total, in_one_process(place, question).sum)


def test_each_silo_s_key_is_its_own_and_nobody_else_may_read_it(place: Path) -> None:
    north, south = MessageHandler(silo("north"), place), MessageHandler(silo("south"), place)
    assert (place / "north-own" / KEY).read_text() != (place / "south-own" / KEY).read_text()
    for file in (place / "north-own").rglob("*"):
        if file.is_file() and file.suffix in (".json", ".safetensors"):
            assert stat.S_IMODE(os.stat(file).st_mode) == 0o600, file
    first, other = asked(north), asked(south)
    assert isinstance(first, Answer)
    assert isinstance(other, Answer)
    assert not np.array_equal(first.sum, other.sum)


def test_embeddings_are_made_once_and_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedtext.models.encoder.load_encoder", lambda *_: pytest.fail("embedded again"))
    assert isinstance(asked(MessageHandler(silo("north"), place)), Answer)


def test_another_version_makes_its_own_embeddings(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may embed by another rule; the kept ones would stay for ever."""
    handler = MessageHandler(silo("north"), place)
    (before,) = handler.folder.glob("embeddings-*")
    monkeypatch.setattr("fedtext.silo.local_data.code_digest", lambda: "another")
    monkeypatch.setattr("fedtext.models.encoder.load_encoder", lambda _: _Encoder())
    assert handler.local_data().embeddings.shape[1] == 2
    assert not before.exists()


class _Encoder:
    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        return np.ones((len(texts), 2), dtype=np.float32)


def test_the_silo_prices_the_question_itself_and_charges_its_own_ledger(place: Path) -> None:
    handler = MessageHandler(silo("north"), place)
    assert isinstance(asked(handler), Answer)
    alone = epsilon(noise_multiplier=6.0, delta=1e-5, rounds=1)
    assert handler.spent() == pytest.approx(alone, rel=1e-6)
    assert isinstance(asked(handler, round=2), Answer)
    assert handler.spent() == pytest.approx(epsilon(noise_multiplier=6.0, delta=1e-5, rounds=2), rel=1e-6)
    assert [one.outcome for one in entries(handler.folder)] == ["answered", "answered"]
    assert [one.epsilon for one in entries(handler.folder)] == pytest.approx([alone, alone])


def test_the_same_question_again_gives_the_same_bytes_and_costs_nothing(place: Path) -> None:
    first = asked(MessageHandler(silo("north"), place))
    again = MessageHandler(silo("north"), place)  # after a kill
    second = asked(again)
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert first.sum.tobytes() == second.sum.tobytes()
    assert len(release_history(again.folder)) == 1
    assert [one.outcome for one in entries(again.folder)] == ["answered", "repeated"]


def test_what_the_budget_does_not_pay_is_refused_in_a_sentence_and_nothing_is_spent(place: Path) -> None:
    handler = MessageHandler(silo("north"), place)
    refused = asked(handler, noise_multiplier=0.05)
    assert isinstance(refused, Refusal)
    assert (refused.silo, refused.code) == ("north", handlers.BUDGET)
    assert "0 is spent" in refused.sentence
    assert not release_history(handler.folder)
    rounds = [asked(handler, round=number) for number in range(1, 80)]
    answered = [isinstance(one, Answer) for one in rounds]
    assert answered == sorted(answered, reverse=True), "once it is spent, it stays spent"
    assert 10 < sum(answered) < 79
    assert handler.spent() <= 4.0
    assert epsilon(noise_multiplier=6.0, delta=1e-5, rounds=sum(answered) + 1) > 4.0


def test_another_question_under_one_name_and_round_is_paid_again(place: Path) -> None:
    """A server that asks two things and calls them one gets noise of its own for each, and a bill for both."""
    handler, other = MessageHandler(silo("north"), place), ClassMeans(labels=("b", "a"))
    first, second = asked(handler), asked(handler, other)
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert len(release_history(handler.folder)) == 2
    assert handler.spent() == pytest.approx(epsilon(noise_multiplier=6.0, delta=1e-5, rounds=2), rel=1e-6)


FREE = {"noise_multiplier": 1e6}  # a release whose epsilon is next to nothing, and whose noise hides everything


def on(*rows: int) -> NearestVotes:
    """Votes for candidates of which the last is far from all that anybody holds, or an own text of the silo's."""
    vectors = unit_rows(3, 40)
    return NearestVotes(
        flexible=conf_base(Flexible, labels=(), votes_per_record=1),
        embeddings=vectors[[*range(12), *rows]],
        label=np.zeros(12 + len(rows), dtype=np.int64),
    )


def test_no_two_questions_have_one_answer_whatever_a_server_calls_them(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal bytes would say, for next to no epsilon, that two exact sums are equal: that nobody's text is near."""
    handler, zeros = MessageHandler(silo("north"), place), np.zeros((10, 13))  # units that are declared
    monkeypatch.setattr(
        NearestVotes, "blocks", lambda _, held: [Block(np.unique(held.unit), zeros[: len(np.unique(held.unit))])]
    )
    first, second, again = (asked(handler, on(row), **FREE) for row in (20, 21, 20))
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert isinstance(again, Answer)
    assert not np.array_equal(first.sum, second.sum)
    assert np.array_equal(first.sum, again.sum)
    assert len(release_history(handler.folder)) == 2


def test_another_table_changes_every_answer_also_where_its_sum_is_the_same(place: Path) -> None:
    """Else a server would learn which exact sums a change of the table has moved."""
    handler, nobody = MessageHandler(silo("north"), place), ClassMeans(labels=("of nobody",))
    first = asked(handler, nobody, **FREE)
    rows = table("north")
    rows.sample(frac=1, random_state=0).to_csv(place / "north.csv", index=False)
    in_another_order = asked(handler, nobody, **FREE)
    rows.drop(index=3).to_csv(place / "north.csv", index=False)
    of_fewer = asked(handler, nobody, **FREE)
    assert isinstance(first, Answer)
    assert isinstance(in_another_order, Answer)
    assert isinstance(of_fewer, Answer)
    assert np.array_equal(first.sum, in_another_order.sum)
    assert not np.array_equal(first.sum, of_fewer.sum)
    assert len(release_history(handler.folder)) == 2


@pytest.mark.parametrize("clip_norm", [5e-324, 1e-308, 1e-300, 1e-100, 1e200, 1.7e308])
def test_a_clip_norm_beyond_what_arithmetic_bears_is_refused(place: Path, clip_norm: float) -> None:
    """Below 1e-293 every person's rounded row was -2^31 in every place, and the noise some thousands."""
    handler = MessageHandler(silo("north"), place)
    refused = asked(handler, clip_norm=clip_norm)
    assert isinstance(refused, Refusal)
    assert refused.code == "clip-norm-or-inflation-out-of-range"
    assert not release_history(handler.folder)


@pytest.mark.parametrize("noise_multiplier", [5e-324, 1e-300, 1e308])
def test_every_message_has_a_reply_and_a_line_in_the_log(place: Path, noise_multiplier: float) -> None:
    handler = MessageHandler(silo("north"), place)
    assert isinstance(asked(handler, noise_multiplier=noise_multiplier), Refusal)
    assert len(entries(handler.folder)) == 1
    assert not release_history(handler.folder)


class Everything(Question):
    """What no silo has agreed to."""

    def blocks(self, held: PrivateSamples) -> list[Block]:
        return [Block(held.unit, held.features)]


def test_a_question_that_it_does_not_know_is_refused(place: Path) -> None:
    handler = MessageHandler(silo("north"), place)
    inquiry = Inquiry(AskedQuery.of(query()), Everything())
    refused = read_reply(handler.reply(inquiry.packed()))
    assert isinstance(refused, Refusal)
    assert refused.code == "unknown-question"
    assert not release_history(handler.folder)


@pytest.mark.parametrize(
    "message", [b"", b"{}", pack("inquiry", {}), pack("inquiry", {"query": {"dim": -1}}), pack("run", {})]
)
def test_what_is_no_inquiry_is_refused(place: Path, message: bytes) -> None:
    handler = MessageHandler(silo("north"), place)
    assert isinstance(read_reply(handler.reply(message)), Refusal)
    assert [one.outcome for one in entries(handler.folder)] == ["refused"]


def test_a_fact_of_another_version_is_refused_and_not_left_out(place: Path) -> None:
    handler, packed = MessageHandler(silo("north"), place), unpack(inquiry().packed())
    later = pack(packed.kind, packed.facts | {"sampled": 0.1}, packed.arrays)
    refused = read_reply(handler.reply(later))
    assert isinstance(refused, Refusal)
    assert refused.code == "faulty-inquiry"
    assert not release_history(handler.folder)


def test_a_question_for_others_costs_nothing(place: Path) -> None:
    handler = MessageHandler(silo("north"), place)
    refused = asked(handler, parties=("south", "west"))
    assert isinstance(refused, Refusal)
    assert refused.code == handlers.NOT_ASKED
    assert isinstance(asked(handler, parties=("north", "west")), Answer)


def test_what_fails_says_nothing_of_the_text(place: Path) -> None:
    """An error may quote a record: the server learns that something failed, and no more."""
    rows = table("north")
    rows.loc[3, "text"] = ""
    handler = MessageHandler(silo("north"), place)
    rows.to_csv(place / "north.csv", index=False)
    refused = asked(handler)
    assert isinstance(refused, Refusal)
    assert refused.code == handlers.FAILED
    assert "row" not in refused.sentence
    assert not release_history(handler.folder)
    assert [one.outcome for one in entries(handler.folder)] == ["failed"]


def test_a_wrong_width_is_refused_and_costs_nothing(place: Path) -> None:
    handler = MessageHandler(silo("north"), place)
    refused = asked(handler, dim=DIM + 1)
    assert isinstance(refused, Refusal)
    assert refused.code == UNANSWERABLE
    assert not release_history(handler.folder)


def test_more_units_than_declared_are_told_here_alone(place: Path) -> None:
    handler = MessageHandler(silo("north", protection={"population": 5}), place)
    refused = asked(handler)
    assert isinstance(refused, Refusal)
    assert refused.code == handlers.FAILED
    assert "5" not in refused.sentence


def without_a_record(name: str) -> pd.DataFrame:
    """A silo's table without the first record of a declared class."""
    rows = table(name)
    return rows.drop(index=rows.index[rows["label"].isin(CODES)][0])


def test_another_text_is_another_release(place: Path) -> None:
    handler = MessageHandler(silo("north"), place)
    first = asked(handler)
    without_a_record("north").to_csv(place / "north.csv", index=False)
    second = asked(handler)
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert not np.array_equal(first.sum, second.sum)
    assert len(release_history(handler.folder)) == 2


def test_removing_a_record_at_one_silo_changes_that_silo_s_message_alone(place: Path) -> None:
    before = [asked(MessageHandler(silo(name), place, SHARED)) for name in NAMES]
    without_a_record("south").to_csv(place / "south.csv", index=False)
    after = [asked(MessageHandler(silo(name), place, SHARED)) for name in NAMES]
    same = [
        isinstance(one, Answer) and isinstance(other, Answer) and one.sum.tobytes() == other.sum.tobytes()
        for one, other in zip(before, after, strict=True)
    ]
    assert same == [True, False, True]


def test_its_card_says_what_is_public(place: Path) -> None:
    card = read_reply(MessageHandler(silo("north"), place).reply(pack(WHO, {})))
    assert isinstance(card, Card)
    assert card.model_dump() == {
        "name": "north", "unit": "client", "population": 10, "adjacency": "zero_out", "epsilon": 4.0, "delta": 1e-5,
        "encoder": "offline", "secure_sums": {"minimum": 3, "honest_fraction": 0.7, "peers": ()},
        "code": code_name(),
    }  # fmt: skip
