"""The server's side: silos in place of one process, and a sentence for each that refuses, is missing or sends garbage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtext.federation.federation import Federation, Simulated
from fedtext.federation.inquiry import Answer, Card, Refusal, SecureTerms, packed_reply, read_inquiry, read_reply
from fedtext.federation.mechanism import planned_sum
from fedtext.federation.packed import Packed, pack, unpack
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import release_grid_sum
from fedtext.federation.silos_asked import Silos, cards_of, judged, parties_of, validate_cards
from fedtext.federation.units import unit_codes
from fedtext.params.privacy import Privacy
from fedtext.privacy.budget_guard import NoBudgetGuard, guarding
from fedtext.privacy.data_set_budget import DataSetBudget
from fedtext.privacy.history import History, release_history
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.privacy.parties import Party
from fedtext.privacy.spending import Rules
from fedtext.system.alike import code_name
from fedtext.voting.class_means import ClassMeans
from tests.parameters import conf_base
from tests.refusals import refuses

NAMES, UNITS, DIM = ("north", "south", "west"), 6, 4
MEANS = ClassMeans(labels=("a", "b"))
KEY = NoiseKey(secret=new_noise_key(3).secret, source="operating system")
DECLARED = conf_base(Privacy, epsilon=4.0, delta=1e-5, aggregation="local")
PARTIES = tuple(Party(name=name, kind="silo", population=UNITS, epsilon=4.0) for name in NAMES)
LEDGER = Ledger(declaration=DECLARED, population=3 * UNITS, parties=PARTIES)
QUERY = Query("sum", 1, 2 * DIM, 1.0, 6.0)


def held(name: str) -> PrivateSamples:
    rng = np.random.default_rng(NAMES.index(name))
    unit = unit_codes([f"{name} {i}" for i in range(UNITS)])
    rows = rng.standard_normal((UNITS, DIM))
    holder = np.repeat(unit_codes([name]), UNITS)
    return PrivateSamples(rows / np.linalg.norm(rows, axis=1)[:, None], unit, rng.integers(0, 2, UNITS), unit, holder)


def everybody() -> PrivateSamples:
    parts = [held(name) for name in NAMES]
    fields = ("features", "unit", "label", "enrolled", "holder")
    return PrivateSamples(*(np.concatenate([getattr(part, field) for part in parts]) for field in fields))


Change = Callable[[Answer], Any]


@dataclass
class Wire:
    """Silos that compute as any holder does; `changed` replaces what one of them sends."""

    changed: dict[str, Change]
    names: tuple[str, ...] = NAMES
    asked: int = 0

    def ask(self, message: bytes, wanted: int) -> list[bytes]:
        self.asked += 1
        return [reply for name in self.names if (reply := self._reply(name, unpack(message))) is not None]

    def _reply(self, name: str, message: Packed) -> bytes | None:
        if message.kind == "who":
            card = Card(
                name=name, unit="client", population=UNITS, adjacency="zero_out", epsilon=4.0, delta=1e-5, encoder="e",
                secure_sums=SecureTerms(minimum=3, honest_fraction=0.5, peers=()), code=code_name(),
            )  # fmt: skip
            return packed_reply(card)
        inquiry = read_inquiry(message, [ClassMeans])
        (own,) = [party for party in PARTIES if party.name == name]
        ledger = Ledger(declaration=DECLARED, population=UNITS, parties=(own,))
        query = inquiry.query.of_silo(name)
        with guarding(NoBudgetGuard()):  # a silo's own process has nothing of the server's
            found = release_grid_sum(query, inquiry.question.blocks, held(name), ledger, KEY)
        reply = self.changed.get(name, lambda answer: answer)(Answer(name, found.sum))
        return reply if reply is None or isinstance(reply, bytes) else packed_reply(reply)


def test_silos_give_the_sum_and_the_charge_of_one_process() -> None:
    silos, simulated = Silos(Wire({})), Simulated(everybody(), KEY)
    assert isinstance(silos, Federation)
    ours, theirs = silos.summed(QUERY, MEANS, LEDGER), simulated.summed(QUERY, MEANS, LEDGER)
    assert ours.sum.tobytes() == theirs.sum.tobytes()
    assert ours.ledger == theirs.ledger
    assert [release.name for release in ours.ledger.releases] == ["sum"]


def account(root: Path) -> DataSetBudget:
    return DataSetBudget(History(root), public=False, total=None, rules=Rules("s"))


def test_the_server_s_books_have_one_entry_however_often_it_asks(tmp_path: Path) -> None:
    for _ in range(2):
        with guarding(account(tmp_path).guard_of("ask", releases=True)):
            Silos(Wire({})).summed(QUERY, MEANS, LEDGER)
    assert len(release_history(tmp_path)) == 1


def wrong(**changes: Any) -> Change:
    return lambda answer: replace(answer, **{name: change(answer.sum) for name, change in changes.items()})


FLOATS = np.zeros(2 * DIM)
GARBAGE: dict[str, Change] = {
    "too narrow": wrong(sum=lambda numbers: numbers[:-1]),
    "too wide": wrong(sum=lambda numbers: np.append(numbers, 0)),
    "a table": wrong(sum=lambda numbers: numbers[None]),
    "out of range": wrong(sum=lambda numbers: numbers + 2**40),
    "the smallest integer": wrong(sum=lambda numbers: np.full_like(numbers, np.iinfo(np.int64).min)),
    "not a number": wrong(sum=lambda _: np.full(2 * DIM, np.nan)),
    "floats": wrong(sum=lambda _: FLOATS),
    "short integers": wrong(sum=lambda numbers: numbers.astype(np.int32)),
}


@pytest.mark.parametrize("change", GARBAGE.values(), ids=GARBAGE)
def test_garbage_ends_the_round_by_name_and_nothing_is_charged_or_released(change: Change, tmp_path: Path) -> None:
    gate = account(tmp_path).guard_of("ask", releases=True)
    with guarding(gate), refuses("silo-sent-garbage", value="south"):
        Silos(Wire({"south": change})).summed(QUERY, MEANS, LEDGER)
    assert not gate.passed
    assert not release_history(tmp_path)


def test_garbage_that_is_no_message_is_refused() -> None:
    with refuses("no-message"):
        Silos(Wire({"south": lambda _: b"\x00" * 99})).summed(QUERY, MEANS, LEDGER)
    with refuses("faulty-reply"):
        Silos(Wire({"south": lambda _: pack("answer", {"silo": "south"})})).summed(QUERY, MEANS, LEDGER)


def test_a_silo_that_is_gone_is_named_and_the_same_question_again_is_answered() -> None:
    with refuses("silo-missing", value="south"):
        Silos(Wire({"south": lambda _: None})).summed(QUERY, MEANS, LEDGER)
    assert Silos(Wire({})).summed(QUERY, MEANS, LEDGER).ledger.releases


def test_a_refusal_is_told_in_the_silo_s_own_words() -> None:
    refusal = Refusal(silo="west", code="silo-budget", sentence="the people here have agreed to less")
    with refuses("silo-refuses", value="silo-budget") as raised:
        Silos(Wire({"west": lambda _: refusal})).summed(QUERY, MEANS, LEDGER)
    assert "silo west" in str(raised.value)
    assert refusal.sentence in str(raised.value)


def test_a_silo_s_words_steer_no_terminal_and_end() -> None:
    """They are not the server's: a cleared screen or a forged line would be believed."""
    refusal = Refusal(silo="west", code="x", sentence="\x1b[2Jall is well\n\u202eINFO " + "no " * 10_000)
    with refuses("silo-refuses") as raised:
        Silos(Wire({"west": lambda _: refusal})).summed(QUERY, MEANS, LEDGER)
    assert str(raised.value).isprintable()
    assert "all is well" in str(raised.value)
    assert len(str(raised.value)) < 1100


def test_an_answer_in_another_s_name_does_not_count() -> None:
    with refuses("silo-twice"):
        Silos(Wire({"west": lambda answer: replace(answer, silo="south")})).summed(QUERY, MEANS, LEDGER)


def test_the_largest_legal_answer_passes_and_the_next_does_not() -> None:
    plan = planned_sum(QUERY, DECLARED, UNITS, 1)
    per_unit = int(plan.release.sensitivity / plan.step)
    for above in (0, 1):
        beyond = 0
        low, high = UNITS * per_unit, 2**62
        while high - low > 1:  # the bound, by search
            middle = (low + high) // 2
            try:
                judged(Answer("north", np.full(2 * DIM, middle)), PARTIES[0], plan)
                low = middle
            except RuntimeError:
                high = middle
        beyond = low + above
        answer = Answer("north", np.full(2 * DIM, -beyond))
        if above:
            with refuses("silo-sent-garbage"):
                judged(answer, PARTIES[0], plan)
        else:
            assert judged(answer, PARTIES[0], plan) is answer.sum
    assert beyond < UNITS * per_unit + 33 * plan.stddev_on_grid * 2


def test_only_noise_of_silos_and_plain_queries_are_asked() -> None:
    trusted = LEDGER.model_copy(update={"declaration": DECLARED.model_copy(update={"aggregation": "trusted"})})
    wire = Wire({})
    with refuses("silos-add-their-own-noise", parameter="privacy.aggregation"):
        Silos(wire).summed(QUERY, MEANS, trusted)
    with refuses("query-not-for-silos"):
        Silos(wire).summed(replace(QUERY, steps=2), MEANS, LEDGER)
    assert wire.asked == 0


def test_cards_name_the_parties_and_a_stranger_or_a_missing_one_is_refused() -> None:
    cards = cards_of(Wire({}), 3)
    assert parties_of(cards, 9.0) == PARTIES
    assert {party.epsilon for party in parties_of(cards, 1.0)} == {1.0}
    for names in (NAMES[:2], (*NAMES[:2], "south")):
        with refuses("another-number-of-silos", parameter="federation.silos", value=3):
            cards_of(Wire({}, names), 3)


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"unit": "record"}, "privacy.unit"),
        ({"adjacency": "replace_one"}, "privacy.adjacency"),
        ({"encoder": "other"}, "models.encoder"),
    ],
)
def test_silos_that_declare_otherwise_are_refused_before_anything_is_asked(
    changes: dict[str, str], parameter: str
) -> None:
    cards = [read_reply(reply) for reply in Wire({}).ask(pack("who", {}), 3)]
    known = [card for card in cards if isinstance(card, Card)]
    validate_cards(known, DECLARED, "e")
    with refuses("silo-declares-otherwise", parameter=parameter):
        validate_cards([*known[:2], known[2].model_copy(update=changes)], DECLARED, "e")


@pytest.mark.parametrize("code", ["", "another"])
def test_a_silo_of_other_code_is_named_before_anything_is_asked(code: str) -> None:
    """Its own declaration is the run's, and its votes may follow another rule."""
    cards = [read_reply(reply) for reply in Wire({}).ask(pack("who", {}), 3)]
    known = [card for card in cards if isinstance(card, Card)]
    with refuses("silo-of-other-code", value="west"):
        validate_cards([*known[:2], known[2].model_copy(update={"code": code})], DECLARED, "e")
