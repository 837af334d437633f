"""Noise is the holder's: once a silo, whatever it holds, and none of its records is the less protected."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedtext.federation.blocks import Block
from fedtext.federation.holders import holders_of, sent_by_holders
from fedtext.federation.mechanism import opened_ledger, planned_sum, summed_stddev
from fedtext.federation.messages import client_messages
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import Answer, answer
from fedtext.federation.units import unit_codes
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import BudgetExceeded, Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.privacy.parties import Party
from tests.parameters import conf_base

KEY = new_noise_key(3)
SILOS, RECORDS, DIM = 5, 40, 4000
NAMES = tuple(f"silo {i}" for i in range(SILOS))
HOLDER = np.repeat(unit_codes(NAMES), RECORDS)
UNIT = np.arange(SILOS * RECORDS)


def declared(**changed: Any) -> Privacy:
    fields = {"unit": "record", "aggregation": "local", "epsilon": 8.0, "delta": 1e-6, "noise_seed": 3}
    return conf_base(Privacy, {**fields, "population": SILOS * RECORDS, "holders": SILOS, **changed})


def query(dim: int = DIM, **changed: Any) -> Query:
    return Query(**{"name": "sum", "round": 1, "dim": dim, "clip_norm": 1.0, "noise_multiplier": 20.0, **changed})


def held(holder: np.ndarray | None = HOLDER) -> PrivateSamples:
    return PrivateSamples.of_one_class(np.eye(len(UNIT)), UNIT, holder)


def opened(privacy: Privacy | None = None, parties: tuple[Party, ...] = (), *asked: Query) -> Ledger:
    return opened_ledger(asked or [query()], privacy or declared(), SILOS * RECORDS, parties=parties)


def nothing(samples: PrivateSamples) -> Iterable[Block]:
    """Every record sends zeros, so that the sum is the noise."""
    return [Block(samples.unit, np.zeros((len(samples.unit), DIM)))]


def asked(ledger: Ledger, samples: PrivateSamples | None = None, **changed: Any) -> Answer:
    said: Callable[[PrivateSamples], Iterable[Block]] = changed.pop("said", nothing)
    return answer(query(**changed), said, samples or held(), ledger, KEY)


def refused(noise: np.ndarray, stddev: float) -> bool:
    """Whether noise of this deviation would hardly ever look like it."""
    low, high = stats.chi2.ppf([1e-6, 1 - 1e-6], len(noise))
    return not low < float(noise @ noise) / stddev**2 < high


def test_a_silo_adds_one_draw_of_noise_and_not_one_a_record() -> None:
    noised, charged = asked(opened())
    one = charged.releases[-1].noise_stddev
    assert not refused(noised, math.sqrt(SILOS) * one)
    assert summed_stddev(charged) == math.sqrt(SILOS) * one
    for wrong in (1, math.sqrt(SILOS * RECORDS), math.sqrt(SILOS - 1), math.sqrt(SILOS + 1)):
        assert refused(noised, wrong * one)


def test_without_declared_holders_every_record_is_a_holder_of_its_own() -> None:
    noised, charged = asked(opened(declared(holders=None)))
    assert not refused(noised, math.sqrt(SILOS * RECORDS) * charged.releases[-1].noise_stddev)
    assert summed_stddev(charged) == math.sqrt(SILOS * RECORDS) * charged.releases[-1].noise_stddev


def test_holders_that_hold_nothing_add_their_noise_too() -> None:
    noised, charged = asked(opened(declared(holders=2 * SILOS)))
    assert not refused(noised, math.sqrt(2 * SILOS) * charged.releases[-1].noise_stddev)
    assert refused(noised, math.sqrt(SILOS) * charged.releases[-1].noise_stddev)


def test_a_silo_of_which_no_record_was_drawn_sends_noise_all_the_same() -> None:
    """Else a missing message, or a sum with less noise, would show the draw."""
    drawn = declared(sampling="poisson", clients_per_round=1)
    noised, charged = asked(opened(drawn))
    assert not refused(noised, math.sqrt(SILOS) * charged.releases[-1].noise_stddev)
    assert summed_stddev(charged) == math.sqrt(SILOS) * charged.releases[-1].noise_stddev


def test_whoever_holds_one_record_sends_what_the_record_would() -> None:
    """Byte for byte: where holder and unit are one, nothing has changed."""

    def said(samples: PrivateSamples) -> Iterable[Block]:
        return [Block(samples.unit, samples.features[:, :7])]

    own = opened(declared(holders=SILOS * RECORDS), (), query(7))
    each = opened(declared(holders=None), (), query(7))
    by_holder = asked(own, held(UNIT), dim=7, said=said).sum
    assert by_holder.tobytes() == asked(each, held(None), dim=7, said=said).sum.tobytes()


@settings(max_examples=40)
@given(
    messages=st.lists(st.tuples(st.integers(0, SILOS * RECORDS - 1), st.integers(-9, 9)), unique_by=lambda one: one[0])
)
def test_a_holder_sends_the_sum_of_its_records_and_every_holder_sends(messages: list[tuple[int, int]]) -> None:
    sent = dict(sent_by_holders(((u, np.array([v])) for u, v in messages), held(), opened(), 1))
    assert sent.keys() == set(HOLDER.tolist())
    for holder, total in sent.items():
        assert total == sum(value for unit, value in messages if HOLDER[unit] == holder)


def test_a_record_moves_its_holder_s_message_alone_and_by_no_more_than_is_priced() -> None:
    plan = planned_sum(query(3), declared(), SILOS * RECORDS)
    cut = [Block(UNIT, np.random.default_rng(0).normal(scale=9, size=(len(UNIT), 3)))]
    whole = dict(client_messages(cut, plan, UNIT, KEY, ("stream",)))
    less = {**whole, 0: np.zeros(3, dtype=np.int64)}
    limit = plan.release.sensitivity / plan.step
    before, after = (dict(sent_by_holders(one.items(), held(), opened(), 3)) for one in (whole, less))
    assert [holder for holder in before if (before[holder] != after[holder]).any()] == [HOLDER[0]]
    assert 0.9 * limit < np.linalg.norm(before[HOLDER[0]] - after[HOLDER[0]]) <= limit


def test_the_price_is_that_of_one_draw() -> None:
    """The server sees each silo's message: a record is hidden by the noise of its own silo, and by no other's."""
    by_silo, by_record = asked(opened()).ledger, asked(opened(declared(holders=None))).ledger
    assert by_silo.epsilon() == by_record.epsilon() > 0


def test_shares_under_secure_aggregation_come_from_holders() -> None:
    """A million records' shares would be thinner than the grid; five silos' are not."""
    coarse = {"aggregation": "secure", "population": 10**9}
    thin = query(1, noise_multiplier=0.5)
    with pytest.raises(ValueError, match="1000000000 shares"):
        planned_sum(thin, declared(**coarse, holders=None), 10**9)
    assert planned_sum(thin, declared(**coarse), 10**9).draws == 1


@pytest.mark.parametrize("part", [1.0, 0.75, 0.1])
def test_a_client_that_loses_its_last_record_sends_all_the_same(part: float) -> None:
    """Whatever part of the records is asked: how many hold one of that part is private."""
    ledger = opened_ledger([query()], declared(), round(part * SILOS * RECORDS))
    others = held().of_units(UNIT[HOLDER[0] != HOLDER])
    with_it, without = (dict(sent_by_holders([], samples, ledger, 1)) for samples in (held(), others))
    assert len(with_it) == len(without) == holders_of(ledger) == SILOS
    assert HOLDER[0] in with_it.keys() - without.keys()


def test_who_holds_what_must_be_told_and_be_as_declared() -> None:
    with pytest.raises(ValueError, match="nobody says who holds the samples"):
        asked(opened(), held(None))
    with pytest.raises(ValueError, match=r"more clients hold records than the 4 that privacy\.holders declares"):
        asked(opened(declared(holders=4)))
    twice = PrivateSamples.of_one_class(np.eye(2), np.array([1, 1]), np.array([5, 6]))
    with pytest.raises(ValueError, match="a unit has two holders"):
        asked(opened(), twice)


@pytest.mark.parametrize("changed", [{"unit": "client"}, {"population": None}])
def test_holders_are_of_a_declared_number_of_records(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"privacy.holders is 5.*declare unit record and a population"):
        declared(**changed)


def test_a_declaration_without_holders_is_written_as_it_always_was() -> None:
    assert "holders" not in declared(holders=None).draw_name()
    assert "holders" in declared().draw_name()
    assert declared(holders=7) == Privacy.model_validate_json(declared(holders=7).model_dump_json())


PARTIES = tuple(Party(name=name, kind="silo", population=RECORDS, epsilon=8.0) for name in NAMES)


def ones(samples: PrivateSamples) -> Iterable[Block]:
    """Every record sends 1 in the place of its silo."""
    place = {code: i for i, code in enumerate(unit_codes(NAMES).tolist())}
    assert samples.holder is not None
    return [Block(samples.unit, np.eye(SILOS)[[place[code] for code in samples.holder.tolist()]])]


@pytest.mark.parametrize("aggregation", ["local", "secure", "trusted"])
def test_only_the_parties_that_are_asked_are_in_the_sum_and_pay(aggregation: Any) -> None:
    two = query(SILOS, parties=NAMES[1:3], noise_multiplier=0.9)
    ledger = opened(declared(aggregation=aggregation, holders=None, population=None), PARTIES, two)
    noised, charged = asked(ledger, dim=SILOS, parties=NAMES[1:3], noise_multiplier=0.9, said=ones)
    assert np.round(noised / RECORDS).tolist() == [0, 1, 1, 0, 0]
    spent = [charged.spent(party=name) for name in NAMES]
    assert spent[0] == spent[3] == spent[4] == 0
    assert spent[1] == spent[2] == charged.epsilon() > 0
    assert summed_stddev(charged) == pytest.approx((2**0.5 if aggregation == "local" else 1) * 0.9, rel=1e-2)


def test_local_noise_is_that_of_the_parties_that_are_asked() -> None:
    three = {"parties": NAMES[:3]}
    ledger = opened(declared(holders=None, population=None), PARTIES, query(**three))
    noised, charged = asked(ledger, **three)
    assert not refused(noised, math.sqrt(3) * charged.releases[-1].noise_stddev)
    assert refused(noised, math.sqrt(SILOS) * charged.releases[-1].noise_stddev)


def test_a_joint_sum_and_one_of_a_party_are_paid_for_apart() -> None:
    joint, alone = query(5, noise_multiplier=2.0), query(5, name="own", noise_multiplier=1.0, parties=NAMES[:1])
    ledger = opened(declared(holders=None, population=None), PARTIES, joint, alone)
    ledger = asked(ledger, dim=5, noise_multiplier=2.0, said=ones).ledger
    before = [ledger.spent(party=name) for name in NAMES]
    ledger = asked(ledger, dim=5, name="own", noise_multiplier=1.0, parties=NAMES[:1], said=ones).ledger
    assert ledger.spent(party=NAMES[0]) > before[0]
    assert [ledger.spent(party=name) for name in NAMES[1:]] == before[1:]


def test_a_party_that_cannot_pay_is_not_asked() -> None:
    poor = (*PARTIES[:-1], PARTIES[-1].model_copy(update={"epsilon": 0.1}))
    with pytest.raises(BudgetExceeded, match=r"party 'silo 4' \(silo\)"):
        opened(declared(holders=None, population=None), poor, query(5, noise_multiplier=1.0))


def test_samples_are_the_known_parties_and_as_many_as_they_declare() -> None:
    privacy = declared(holders=None, population=None)
    fewer = tuple(party.model_copy(update={"population": RECORDS + 10}) for party in PARTIES[:-1])
    with pytest.raises(ValueError, match="held by nobody whom the ledger knows"):
        asked(opened(privacy, fewer))
    small = (PARTIES[0].model_copy(update={"population": 1}), *PARTIES[1:-1],
             PARTIES[-1].model_copy(update={"population": 2 * RECORDS - 1}))  # fmt: skip
    with pytest.raises(ValueError, match=r"party 'silo 0' \(silo\) holds more units than the 1 that it declares"):
        asked(opened(privacy, small))
    with pytest.raises(ValueError, match="nobody says who holds"):
        asked(opened(privacy, PARTIES), held(None))
    with pytest.raises(ValueError, match="'nobody' is none of the ledger's"):
        opened(privacy, PARTIES, query(parties=("nobody",)))
