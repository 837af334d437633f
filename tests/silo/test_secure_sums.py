"""Secure sums of three silos' own handlers: the bytes of one process, a share of noise each, and terms of their own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from fedtext.federation.inquiry import AskedQuery, Inquiry, Masked, Refusal, SecureSum, read_reply
from fedtext.federation.masked_sum import SiloError
from fedtext.federation.mechanism import dequantise, planned_release, planned_sum
from fedtext.federation.query import Query
from fedtext.federation.question import Question
from fedtext.federation.secure_sum import release_grid_sum
from fedtext.federation.silos_asked import Silos, cards_of, parties_of, validate_planned_sums
from fedtext.params.privacy import Privacy
from fedtext.privacy.accounting import epsilon
from fedtext.privacy.history import release_history
from fedtext.privacy.ledger import Ledger
from fedtext.silo.audit_log import entries
from fedtext.silo.handler import MessageHandler, ledger_of, own_key
from fedtext.silo.secure_answers import ANSWERED, CHANGED, SecureAnswers
from fedtext.voting.class_means import ClassMeans
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.silo.examples import CODES, DIM, NAMES, InProcess, every_question, peers_of, public_keys, silo
from tests.silo.test_handler import query, without_a_record
from tests.silo.test_pairwise_masks import uniform_p_value

MEANS = ClassMeans(labels=CODES)
HONEST = 0.7


def handler(name: str, place: Path, **changes: Any) -> MessageHandler:
    return MessageHandler(silo(name, secure_sums={"peers": peers_of(name, place)} | changes), place)


def handlers(place: Path) -> InProcess:
    return InProcess(*(handler(name, place) for name in NAMES))


def declared(**changes: Any) -> Privacy:
    return conf_base(
        Privacy, {"epsilon": 4.0, "delta": 1e-5, "aggregation": "secure", "honest_fraction": HONEST, **changes}
    )


def ledger(transport: InProcess, wanted: int = 3, **changes: Any) -> Ledger:
    parties = parties_of(cards_of(transport, wanted), 4.0)
    return Ledger(declaration=declared(**changes), population=10 * wanted, parties=parties)


class Listening(InProcess):
    """Keeps what was said."""

    message: bytes
    replies: list[bytes]

    def ask(self, message: bytes, wanted: int) -> list[bytes]:
        self.message, self.replies = message, super().ask(message, wanted)
        return self.replies


def listening(place: Path) -> Listening:
    return Listening(*handlers(place).handlers)


def inquiry(question: Question = MEANS, parties: tuple[str, ...] = NAMES, **changes: Any) -> Inquiry:
    facts = {"honest_fraction": HONEST, "bits": 40, "session": 0} | changes
    asked = AskedQuery.of(query(question)).model_copy(update={"parties": parties})
    return Inquiry(asked, question, SecureSum.model_validate(facts))


def asked(one: MessageHandler, message: bytes | None = None) -> Masked | Refusal:
    reply = read_reply(one.reply(message or inquiry().packed()))
    assert isinstance(reply, Masked | Refusal)
    return reply


def shares_of_one_process(place: Path, transport: Listening, question: Question) -> np.ndarray:
    """The sum of all silos' sums and shares of noise, by their own keys, without a mask or a message."""
    from hashlib import sha256

    said = sha256(transport.message).hexdigest()
    own = inquiry(question).secure
    total = np.zeros(query(question).dim, dtype=np.int64)
    for name in NAMES:
        held = MessageHandler(silo(name), place).local_data()
        total += release_grid_sum(
            query(question).about(said), question.blocks, held.asked(question), ledger_of(silo(name), own),
            own_key(place / f"{name}-own"), shares=3, bound_to=held.digest,
        ).sum  # fmt: skip
    return total


@pytest.mark.parametrize("question", every_question(), ids=lambda one: type(one).__name__)
def test_the_released_sum_is_that_of_one_process_to_the_bit(place: Path, question: Question) -> None:
    transport = listening(place)
    opened = ledger(transport)
    found = Silos(transport).summed(query(question), question, opened)
    plan = planned_sum(query(question), declared(), 30, 3)
    assert found.sum.tobytes() == dequantise(shares_of_one_process(place, transport, question), plan.step).tobytes()
    assert found.ledger.releases[0].noise_stddev == plan.release.noise_stddev
    words = [reply.words for one in transport.replies if isinstance(reply := read_reply(one), Masked)]
    assert {one.dtype for one in words} == {np.dtype(np.uint32)}, "four bytes a number"


def test_each_message_looks_like_chance_and_the_noise_of_the_sum_is_the_planned_one(place: Path) -> None:
    """A silo without text and one whole share of noise: variance is that of the plan, and not of one share or three."""
    wide = MEANS.model_copy(update={"labels": tuple(f"of nobody {i}" for i in range(20))})
    transport = listening(place)
    found = Silos(transport).summed(query(wide), wide, ledger(transport))
    plan = planned_sum(query(wide), declared(), 30, 3)
    squares, dim = float(((found.sum / plan.step) ** 2).sum()), len(found.sum)
    variance = plan.stddev_on_grid**2

    def p_value(variance: float) -> float:
        return 2 * min(chi2.sf(squares / variance, dim), chi2.cdf(squares / variance, dim))

    assert p_value(variance) > 1e-4
    assert max(p_value(variance * wrong) for wrong in (1 / 3, 2 / 3, 3.0, HONEST)) < 1e-9
    bits = plan.in_shares(3).message_bits
    words = [reply.words for one in transport.replies if isinstance(reply := read_reply(one), Masked)]
    assert min(uniform_p_value(one, bits) for one in words) > 1e-4


def test_a_lost_silo_ends_the_round_and_when_it_is_back_the_sum_is_whole_and_nobody_pays_again(place: Path) -> None:
    whole = Silos(handlers(place)).summed(query(), MEANS, ledger(handlers(place)))
    for name in NAMES:
        (place / f"{name}-own" / ".fedtext").rename(place / f"{name}-before")
    transport = handlers(place)
    opened = ledger(transport)
    with refuses("silo-missing", value="west"):
        Silos(InProcess(*transport.handlers[:2])).summed(query(), MEANS, opened)
    found = Silos(handlers(place)).summed(query(), MEANS, opened)
    assert found.sum.tobytes() == whole.sum.tobytes()
    for name in NAMES:
        assert len(release_history(place / f"{name}-own")) == 1
    assert [one.outcome for one in entries(place / "north-own")] == ["answered", "answered", "repeated"]


def test_a_sum_without_one_silo_has_noise_of_its_own_and_every_silo_pays(place: Path) -> None:
    """The difference of two sums must not be one silo with its own share of the noise alone."""
    both = InProcess(*(handler(name, place, minimum=2) for name in NAMES[:2]))
    all_three = InProcess(*(handler(name, place, minimum=2) for name in NAMES))
    three = Silos(all_three).summed(query(), MEANS, ledger(all_three)).sum
    two = Silos(both).summed(query(), MEANS, ledger(both, 2)).sum
    plan = planned_sum(query(), declared(), 30, 3)
    west = release_grid_sum(
        query(), MEANS.blocks, MessageHandler(silo("west"), place).local_data().asked(MEANS),
        ledger_of(silo("west"), inquiry().secure), own_key(place / "west-own"), shares=3,
    ).sum  # fmt: skip
    left = np.var((three - two) / plan.step - west)
    assert left > 2 * plan.stddev_on_grid**2, "two draws of all of the noise and one share stay in the difference"
    assert len(release_history(place / "north-own")) == 2


def test_the_silo_prices_the_noise_that_it_relies_on(place: Path) -> None:
    one = handler("north", place)
    assert isinstance(asked(one), Masked)
    assert one.spent() == pytest.approx(epsilon(noise_multiplier=6.0, delta=1e-5, rounds=1), rel=1e-6)
    assert isinstance(asked(one), Masked)
    assert [entry.outcome for entry in entries(one.folder)] == ["answered", "repeated"]
    assert isinstance(asked(one, inquiry(session=1).packed()), Masked)
    assert one.spent() == pytest.approx(epsilon(noise_multiplier=6.0, delta=1e-5, rounds=2), rel=1e-6)


def test_other_text_under_the_same_masks_never_leaves(place: Path) -> None:
    one = handler("north", place)
    first = asked(one)
    without_a_record("north").to_csv(place / "north.csv", index=False)
    refused = asked(one)
    assert isinstance(first, Masked)
    assert isinstance(refused, Refusal)
    assert refused.code == CHANGED
    assert len(release_history(one.folder)) == 1
    anew = asked(one, inquiry(session=1).packed())
    assert isinstance(anew, Masked)
    assert not (anew.words == first.words).any()
    assert len(release_history(one.folder)) == 2


def test_another_sum_of_the_same_text_under_the_same_masks_never_leaves_either(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an update of the package that rounds otherwise."""
    one, message = handler("north", place), inquiry().packed()
    assert isinstance(asked(one, message), Masked)
    monkeypatch.setattr(ClassMeans, "blocks", lambda *_: [])
    refused = asked(one, message)
    assert isinstance(refused, Refusal)
    assert refused.code == CHANGED


def put_back(back: str, place: Path) -> tuple[MessageHandler, Masked]:
    """A silo whose folder is one from before its answer, and that answer."""
    one = handler("north", place)
    one.local_data()
    shutil.copytree(one.folder, place / "backup")
    first = asked(one)
    assert isinstance(first, Masked)
    if back == "as it was before":
        shutil.rmtree(one.folder)
        shutil.copytree(place / "backup", one.folder)
    elif back == "without what it answered":
        shutil.rmtree(one.folder / ANSWERED)
    folder = "backup" if back == "a copy in another place" else "north-own"
    peers = peers_of("north", place)
    return MessageHandler(silo("north", secure_sums={"peers": peers}, folder=folder), place), first


BACK = ["as it was before", "without what it answered", "a copy in another place"]


@pytest.mark.parametrize("back", BACK)
def test_a_folder_from_a_backup_repeats_its_answer_from_the_same_text_alone(
    place: Path, back: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (again, first), message = put_back(back, place), inquiry().packed()
    repeated = asked(again, message)
    assert isinstance(repeated, Masked)
    assert repeated.words.tobytes() == first.words.tobytes()
    assert again.spent() == pytest.approx(epsilon(noise_multiplier=6.0, delta=1e-5, rounds=1), rel=1e-6)
    shutil.rmtree(again.folder / ANSWERED)
    monkeypatch.setattr(ClassMeans, "blocks", lambda *_: [])
    refused = asked(again, message)
    assert isinstance(refused, Refusal)
    assert refused.code == CHANGED


@pytest.mark.parametrize("back", BACK)
def test_a_folder_from_a_backup_gives_no_other_text_under_the_same_masks(place: Path, back: str) -> None:
    """The difference of both answers would carry this silo's own share of the noise alone."""
    again, _ = put_back(back, place)
    without_a_record("north").to_csv(place / "north.csv", index=False)
    refused = asked(again)
    assert isinstance(refused, Refusal)
    assert refused.code == CHANGED
    assert isinstance(asked(again, inquiry(session=1).packed()), Masked)


def test_a_question_that_was_not_paid_may_be_answered_from_other_text(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, message = handler("north", place), inquiry().packed()
    with monkeypatch.context() as cut:
        cut.setattr("fedtext.silo.handler.release_grid_sum", lambda *_, **__: 1 / 0)
        assert isinstance(asked(one, message), Refusal)
    without_a_record("north").to_csv(place / "north.csv", index=False)
    assert isinstance(asked(one, message), Masked)


@pytest.mark.parametrize("then", ["the same text", "other text"])
def test_after_a_kill_between_charge_and_answer_the_same_text_alone_is_answered(
    place: Path, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, message = handler("north", place), inquiry().packed()
    with monkeypatch.context() as cut:
        cut.setattr(SecureAnswers, "remember", lambda *_: 1 / 0)
        assert isinstance(asked(one, message), Refusal)
    assert len(release_history(one.folder)) == 1
    if then == "other text":
        without_a_record("north").to_csv(place / "north.csv", index=False)
    assert isinstance(asked(handler("north", place), message), Masked if then == "the same text" else Refusal)
    assert len(release_history(one.folder)) == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"parties": (*NAMES, "east")}, "no public key of east"),
        ({"parties": NAMES[:2]}, "demands 3"),
        ({"honest_fraction": 0.8}, "relies on 0.7"),
        ({"parties": (*NAMES, *NAMES)}, "named twice"),  # whose shares would be half as wide
    ],
)
def test_a_silo_s_own_terms_decide_and_it_pays_nothing(place: Path, changes: dict[str, Any], why: str) -> None:
    one = handler("north", place)
    refused = asked(one, inquiry(**changes).packed())
    assert isinstance(refused, Refusal)
    assert (refused.code, why in refused.sentence) == ("secure-sum-not-agreed", True)
    assert not release_history(one.folder)


def test_terms_are_looked_at_before_a_run_begins(place: Path) -> None:
    """Also those of a sum of a part of the silos, as of the weak ones' votes."""
    transport = handlers(place)
    cards = cards_of(transport, 3)

    def opened(parties: tuple[str, ...] | None = None, **changes: Any) -> Ledger:
        own = ledger(transport, **changes)
        planned = planned_release(query(parties=parties), own.declaration, 30)
        return own.model_copy(update={"planned": (planned,)})

    for fine in (opened(), opened(NAMES), opened(NAMES[:2], aggregation="local", honest_fraction=1.0)):
        validate_planned_sums(fine, cards)
    for refused in (opened(honest_fraction=1.0), opened(NAMES[:2])):
        with refuses("secure-sum-not-agreed", parameter="privacy.aggregation"):
            validate_planned_sums(refused, cards)
    with refuses("silos-add-their-own-noise", parameter="privacy.aggregation"):
        Silos(transport).summed(query(), MEANS, ledger(transport, aggregation="trusted"))


def test_a_silo_with_another_s_key_is_told_by_the_marks_and_nothing_is_released(place: Path) -> None:
    wrong = {**peers_of("west", place), "south": public_keys(place, ["east"])["east"]}
    transport = InProcess(*handlers(place).handlers[:2], handler("west", place, peers=wrong))
    with refuses("silos-without-common-secret", value=["south", "west"]):
        Silos(transport).summed(query(), MEANS, ledger(transport))


LIES: dict[str, Any] = {
    "narrow": lambda words: words[:-1],
    "signed": lambda words: words.astype(np.int64),
    "range": lambda words: words | np.uint32(2**31),
    "floats": lambda words: np.full(len(words), np.nan),
    "shifted": None,
}


@pytest.mark.parametrize("lie", [*LIES])
def test_garbage_ends_the_round(place: Path, lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    transport = handlers(place)
    opened = ledger(transport)

    def reply(message: bytes) -> bytes:
        from dataclasses import replace

        from fedtext.federation.inquiry import packed_reply

        honest = read_reply(MessageHandler.reply(transport.handlers[1], message))
        assert isinstance(honest, Masked)
        rng = np.random.default_rng(1)
        change = LIES[lie] or (lambda words: (words + rng.integers(0, 2**32, len(words), dtype=np.uint32)) % 2**BITS)
        return packed_reply(replace(honest, words=np.asarray(change(honest.words))))

    monkeypatch.setattr(transport.handlers[1], "reply", reply)
    with pytest.raises(SiloError) as raised:
        Silos(transport).summed(query(), MEANS, opened)
    assert raised.value.code == ("sum-is-garbage" if lie == "shifted" else "silo-sent-garbage")


BITS = planned_sum(Query("test.sum", 1, 2 * DIM, 1.0, 6.0), declared(), 30, 3).in_shares(3).message_bits
