"""Private samples: units, label codes that any declaration can be matched to, who is enrolled, and who is asked.

- Participation: who is drawn, how many, from which stream, and that nobody's lot depends on who else is enrolled.
- Noise is the holder's: once a silo, whatever it holds, and none of its records is the less protected.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedtext.federation.mechanism import client_messages, opened_ledger, planned_sum, summed_stddev
from fedtext.federation.private_samples import (
    PrivateSamples,
    class_index,
    enrolled_units,
    holders_of,
    label_codes,
    participants,
    sampled_units,
    scheduled,
    sent_by_holders,
    sums_by_holder,
)
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import NoisySum, release_noisy_sum
from fedtext.federation.units import Block, codes_without_text, unit_codes
from fedtext.params.privacy import Privacy, Sampling
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.privacy.parties import Party
from tests.parameters import conf_base
from tests.refusals import refuses

CLIENTS, RECORDS = np.array([7, 7, 2, 2]), np.array([11, 12, 13, 14])
ARRAYS = {
    "features": np.eye(4),
    "client": CLIENTS,
    "record": RECORDS,
    "label": label_codes(["b", None, "a", "z"]),
}
SIXTY = np.sort(unit_codes([f"client {i}" for i in range(60)]))


def ledger(population: int, **declared: object) -> Ledger:
    return Ledger(declaration=conf_base(Privacy, {"epsilon": 1, "delta": 1e-6, **declared}), population=population)


def holding(units: np.ndarray, enrolled: np.ndarray | None = None) -> PrivateSamples:
    """One sample a unit."""
    labels = np.zeros(len(units), dtype=np.int64)
    return PrivateSamples(np.ones((len(units), 2)), units, labels, units if enrolled is None else enrolled)


def test_a_unit_is_a_client_or_a_record() -> None:
    by_client = PrivateSamples.of(ARRAYS, ("a", "b"), "client", np.array([2, 7, 9]))
    by_record = PrivateSamples.of(ARRAYS, ("a", "b"), "record", RECORDS)
    assert (by_client.unit.tolist(), by_client.enrolled.tolist()) == ([7, 7, 2, 2], [2, 7, 9])
    assert (by_record.unit.tolist(), by_record.enrolled.tolist()) == ([11, 12, 13, 14], [11, 12, 13, 14])
    assert by_client.label.tolist() == by_record.label.tolist() == [1, -1, 0, -1]


def test_chosen_units_keep_their_codes_and_everybody_stays_enrolled() -> None:
    kept = PrivateSamples.of(ARRAYS, (), "client", np.array([2, 7, 9])).of_units(np.array([2, 9]))
    assert (kept.unit.tolist(), kept.enrolled.tolist(), kept.label.tolist()) == ([2, 2], [2, 7, 9], [0, 0])


def test_samples_are_told_apart_by_class() -> None:
    samples = PrivateSamples.of(ARRAYS, ("a", "b"), "client", np.array([2, 7]))
    assert [samples.of_class(c).unit.tolist() for c in (0, 1, -1)] == [[2], [7], [7, 2]]


@given(
    labels=st.lists(st.none() | st.text(max_size=4), max_size=12), classes=st.lists(st.text(max_size=4), unique=True)
)
def test_a_label_s_index_is_its_position_among_the_declared_classes(
    labels: list[str | None], classes: list[str]
) -> None:
    expected = [classes.index(label) if label in classes else -1 for label in labels] if classes else [0] * len(labels)
    found = class_index(label_codes(labels), classes)
    assert found.dtype == np.int64
    assert found.tolist() == expected


_TOLD = ("settings", "public_digest")


def asked(samples: PrivateSamples, opened: Ledger, key: int = 0, **changed: Any) -> np.ndarray:
    told = {"settings": "{}", "public_digest": "ab"} | {k: changed.pop(k) for k in _TOLD if k in changed}
    query = Query(**{"name": "a.sum", "round": 1, "dim": 4, "clip_norm": 1.0, "noise_multiplier": 9.0, **changed})
    return sampled_units(samples, opened, new_noise_key(key), query.about(**told))


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_every_release_has_a_draw_of_its_own(sampling: str) -> None:
    """Composition takes the draws of two releases to be independent: whatever tells them apart must change the draw."""

    def drawn(key: int = 0, declared: Mapping[str, Any] | None = None, **changed: Any) -> tuple[int, ...]:
        of = changed.pop("population", 60)
        opened = ledger(of, **{"sampling": sampling, "clients_per_round": 20, **(declared or {})})
        return tuple(asked(holding(SIXTY), opened, key, **changed))

    others = [drawn(key=1), drawn(declared={"epsilon": 2}), drawn(declared={"clients_per_round": 21})]
    others += [drawn(name="b.sum"), drawn(round=2), drawn(settings='{"clip": 2}'), drawn(public_digest="cd")]
    others += [drawn(noise_multiplier=9.1), drawn(clip_norm=2.0), drawn(dim=5), drawn(non_negative=True)]
    others += [drawn(population=61)]
    assert drawn() == drawn()
    assert len({drawn(), *others}) == 1 + len(others)
    overlaps = [len(set(drawn()) & set(other)) for other in others]
    assert max(overlaps) < 15, "nor is one draw part of another"


@pytest.mark.parametrize("sampling", ["full", "poisson", "fixed_size"])
def test_what_clients_hold_and_whether_they_hold_anything_decides_no_draw(sampling: str) -> None:
    opened = ledger(60, sampling=sampling, clients_per_round=None if sampling == "full" else 20)
    whole = holding(SIXTY)
    other_text = PrivateSamples(whole.features * 2, whole.unit, whole.label, whole.enrolled)
    silent = holding(SIXTY[:10], SIXTY)
    assert np.array_equal(asked(other_text, opened), asked(whole, opened))
    assert np.array_equal(asked(silent, opened), asked(whole, opened))


def test_a_client_that_goes_moves_no_other_s_poisson_lot() -> None:
    opened = ledger(60, sampling="poisson", clients_per_round=20)
    everybody, without = asked(holding(SIXTY), opened), asked(holding(np.delete(SIXTY, 5)), opened)
    assert np.array_equal(np.setdiff1d(everybody, SIXTY[5]), np.intersect1d(without, SIXTY))


def test_everybody_who_is_enrolled_may_be_asked_and_unknown_ones_have_made_up_codes() -> None:
    assert enrolled_units(holding(SIXTY[:2], SIXTY), ledger(60)).tolist() == SIXTY.tolist()
    filled = enrolled_units(holding(SIXTY[:3]), ledger(5))
    assert filled.tolist() == sorted([*SIXTY[:3].tolist(), *codes_without_text(2).tolist()])
    assert len(asked(holding(SIXTY[:3]), ledger(5, aggregation="local"))) == 5, "silent ones add noise as well"
    assert len(asked(holding(SIXTY[:3]), ledger(5))) == 3, "zeros need no code"


def test_more_units_than_the_ledger_prices_are_refused() -> None:
    with refuses("more-units-than-declared", parameter="privacy.population", value=5):
        asked(holding(SIXTY[:6]), ledger(5))
    by_chance = Ledger(declaration=conf_base(Privacy, epsilon=1, delta=1e-6, population=8), population=5)
    assert len(asked(holding(SIXTY[:6]), by_chance)) == 6, "of a declared number a part is by chance"


def test_units_that_hold_samples_and_are_not_enrolled_are_refused() -> None:
    with refuses("not-enrolled"):
        asked(holding(SIXTY[:6], SIXTY[:5]), ledger(60))
    with refuses("not-enrolled"):
        asked(holding(SIXTY[:6], SIXTY[:5]), ledger(60, unit="record"))


KEY = new_noise_key(5)
ENROLLED = np.sort(unit_codes([f"client {i}" for i in range(200)]))


def draw(
    sampling: Sampling,
    round: int = 1,
    enrolled: np.ndarray = ENROLLED,
    m: int | None = 50,
    key: NoiseKey = KEY,
    population: int | None = None,
) -> np.ndarray:
    size = len(enrolled) if population is None else population
    stream = ("a release", str(round))
    return participants(enrolled, sampling=sampling, clients_per_round=m, population=size, key=key, stream=stream)


def test_full_takes_everybody() -> None:
    assert np.array_equal(draw("full", m=None), ENROLLED)
    assert np.array_equal(draw("full", m=None, enrolled=np.tile(ENROLLED[::-1], 2)), ENROLLED), "each once, ascending"


def test_fixed_size_takes_exactly_that_many_distinct_clients() -> None:
    for round in range(50):
        drawn = draw("fixed_size", round)
        assert drawn.size == np.unique(drawn).size == 50
        assert (np.diff(drawn) > 0).all()
        assert np.isin(drawn, ENROLLED).all()
    assert draw("fixed_size", m=200).size == 200


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_every_client_is_equally_likely(sampling: Sampling) -> None:
    counts = np.zeros(200)
    for round in range(400):
        counts[np.searchsorted(ENROLLED, draw(sampling, round))] += 1
    expected = np.full(200, 400 * 0.25)
    statistic = np.square(counts - expected).sum() / (expected[0] * 0.75)
    assert 1e-3 < stats.chi2.sf(statistic, 200) < 1 - 1e-3


def test_a_poisson_draw_has_a_binomial_size() -> None:
    sizes = np.array([draw("poisson", round).size for round in range(400)])
    assert abs(sizes.mean() - 50) < 4 * np.sqrt(200 * 0.25 * 0.75 / 400)
    assert 0.75 < sizes.var() / (200 * 0.25 * 0.75) < 1.3


def test_a_poisson_draw_may_be_empty() -> None:
    sizes = [draw("poisson", round, enrolled=ENROLLED[:3], m=1).size for round in range(40)]
    assert 0 in sizes
    assert max(sizes) > 1


def test_the_rate_of_a_poisson_draw_is_of_the_declared_population() -> None:
    """Of 200 who are known among 1,000 who are declared, a draw of 50 takes about 10, not 50."""
    sizes = np.array([draw("poisson", round, population=1000).size for round in range(400)])
    assert abs(sizes.mean() - 10) < 4 * np.sqrt(200 * 0.05 * 0.95 / 400)


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_a_draw_repeats_and_depends_on_round_and_key(sampling: Sampling) -> None:
    assert np.array_equal(draw(sampling), draw(sampling))
    assert np.array_equal(draw(sampling), draw(sampling, enrolled=ENROLLED[::-1]))
    assert not np.array_equal(draw(sampling), draw(sampling, round=2))
    assert not np.array_equal(draw(sampling), draw(sampling, key=new_noise_key(6)))


@settings(max_examples=40)
@given(seed=st.integers(0, 2**31), kept=st.integers(1, 199), round=st.integers(1, 9))
def test_who_else_is_enrolled_decides_nobody_s_poisson_lot(seed: int, kept: int, round: int) -> None:
    some = np.sort(np.random.default_rng(seed).choice(ENROLLED, kept, replace=False))
    everybody = draw("poisson", round)
    assert np.array_equal(draw("poisson", round, enrolled=some, population=200), np.intersect1d(everybody, some))


@settings(max_examples=40)
@given(gone=st.integers(0, 199), round=st.integers(1, 9))
def test_one_who_goes_lets_at_most_one_other_into_a_draw_of_fixed_size(gone: int, round: int) -> None:
    """A draw of fixed size is a replacement: under replace_one a unit goes and another comes, and nobody else moves."""
    before = draw("fixed_size", round)
    after = draw("fixed_size", round, enrolled=np.delete(ENROLLED, gone), population=200)
    if ENROLLED[gone] in before:
        assert set(before) - set(after) == {ENROLLED[gone]}
        assert len(set(after) - set(before)) == 1
    else:
        assert np.array_equal(before, after)


@pytest.mark.parametrize("clients_per_round", [None, 0, 201])
@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_impossible_sizes_are_refused(sampling: Sampling, clients_per_round: int | None) -> None:
    with refuses("clients-per-round-out-of-range", parameter="clients_per_round"):
        draw(sampling, m=clients_per_round)


def test_no_clients_are_refused() -> None:
    with refuses("nobody-enrolled"):
        draw("full", enrolled=ENROLLED[:0])


def schedule(enrolled: np.ndarray, separation: int, rounds: int, key: NoiseKey) -> list[np.ndarray]:
    return [scheduled(enrolled, separation=separation, round=t, key=key) for t in range(1, rounds + 1)]


@settings(max_examples=60)
@given(n=st.integers(1, 60), separation=st.integers(1, 20), rounds=st.integers(1, 50), key=st.integers(0, 10))
def test_a_schedule_keeps_its_separation_and_asks_everybody_in_turn(
    n: int, separation: int, rounds: int, key: int
) -> None:
    enrolled = ENROLLED[:n]
    asked = schedule(enrolled, separation, rounds, new_noise_key(key))
    for client in enrolled:
        turns = [t for t, who in enumerate(asked) if client in who]
        assert all(later - earlier == separation for earlier, later in itertools.pairwise(turns))
        assert rounds // separation <= len(turns) <= -(-rounds // separation)
    for who in asked:
        assert np.array_equal(who, np.unique(who))
        assert np.isin(who, enrolled).all()
    cycle = np.concatenate(schedule(enrolled, separation, separation, new_noise_key(key)))
    assert np.array_equal(np.sort(cycle), enrolled), "everybody once a cycle"


@settings(max_examples=40)
@given(gone=st.integers(0, 199), separation=st.integers(1, 20), key=st.integers(0, 10))
def test_a_unit_more_or_less_moves_nobody_to_another_round(gone: int, separation: int, key: int) -> None:
    whole = schedule(ENROLLED, separation, separation, new_noise_key(key))
    fewer = schedule(np.delete(ENROLLED, gone), separation, separation, new_noise_key(key))
    assert all(np.array_equal(b, a[a != ENROLLED[gone]]) for a, b in zip(whole, fewer, strict=True))


def test_a_round_of_a_schedule_has_a_binomial_size() -> None:
    sizes = np.array([scheduled(ENROLLED, separation=8, round=1, key=new_noise_key(k)).size for k in range(400)])
    expected, variance = 200 / 8, 200 * (1 / 8) * (7 / 8)
    assert abs(sizes.mean() - expected) < 4 * np.sqrt(variance / 400)
    assert 0.75 < sizes.var() / variance < 1.3


def test_the_places_of_a_schedule_are_equally_likely() -> None:
    counts = np.zeros(8)
    for k in range(50):
        counts += [len(who) for who in schedule(ENROLLED, 8, 8, new_noise_key(k))]
    assert 1e-3 < stats.chisquare(counts).pvalue < 1 - 1e-3


def test_the_places_of_a_schedule_are_drawn_by_the_key() -> None:
    enrolled = unit_codes([str(i) for i in range(1000)])
    first, other = (scheduled(enrolled, separation=4, round=1, key=new_noise_key(k)) for k in (1, 2))
    assert len(np.intersect1d(first, other)) < 100
    with refuses("round-out-of-range", parameter="round", value=0):
        scheduled(enrolled, separation=2, round=0, key=new_noise_key(1))
    with refuses("separation-out-of-range", parameter="separation", value=0):
        scheduled(enrolled, separation=0, round=1, key=new_noise_key(1))


KEY_HOLDERS = new_noise_key(3)
SILOS, RECORDS_HOLDERS, DIM = 5, 40, 4000
NAMES = tuple(f"silo {i}" for i in range(SILOS))
HOLDER = np.repeat(unit_codes(NAMES), RECORDS_HOLDERS)
UNIT = np.arange(SILOS * RECORDS_HOLDERS)


def declared(**changed: Any) -> Privacy:
    fields = {"unit": "record", "aggregation": "local", "epsilon": 8.0, "delta": 1e-6, "noise_seed": 3}
    return conf_base(Privacy, {**fields, "population": SILOS * RECORDS_HOLDERS, "holders": SILOS, **changed})


def query(dim: int = DIM, **changed: Any) -> Query:
    return Query(**{"name": "sum", "round": 1, "dim": dim, "clip_norm": 1.0, "noise_multiplier": 20.0, **changed})


def held(holder: np.ndarray | None = HOLDER) -> PrivateSamples:
    return PrivateSamples.of_one_class(np.eye(len(UNIT)), UNIT, holder)


def opened(privacy: Privacy | None = None, parties: tuple[Party, ...] = (), *asked: Query) -> Ledger:
    return opened_ledger(asked or [query()], privacy or declared(), SILOS * RECORDS_HOLDERS, parties=parties)


def nothing(samples: PrivateSamples) -> Iterable[Block]:
    """Every record sends zeros, so that the sum is the noise."""
    return [Block(samples.unit, np.zeros((len(samples.unit), DIM)))]


def asked_holders(ledger: Ledger, samples: PrivateSamples | None = None, **changed: Any) -> NoisySum:
    said: Callable[[PrivateSamples], Iterable[Block]] = changed.pop("said", nothing)
    return release_noisy_sum(query(**changed), said, samples or held(), ledger, KEY_HOLDERS)


def refused(noise: np.ndarray, stddev: float) -> bool:
    """Whether noise of this deviation would hardly ever look like it."""
    low, high = stats.chi2.ppf([1e-6, 1 - 1e-6], len(noise))
    return not low < float(noise @ noise) / stddev**2 < high


def test_a_silo_adds_one_draw_of_noise_and_not_one_a_record() -> None:
    noised, charged = asked_holders(opened())
    one = charged.releases[-1].noise_stddev
    assert not refused(noised, math.sqrt(SILOS) * one)
    assert summed_stddev(charged) == math.sqrt(SILOS) * one
    for wrong in (1, math.sqrt(SILOS * RECORDS_HOLDERS), math.sqrt(SILOS - 1), math.sqrt(SILOS + 1)):
        assert refused(noised, wrong * one)


def test_without_declared_holders_every_record_is_a_holder_of_its_own() -> None:
    noised, charged = asked_holders(opened(declared(holders=None)))
    assert not refused(noised, math.sqrt(SILOS * RECORDS_HOLDERS) * charged.releases[-1].noise_stddev)
    assert summed_stddev(charged) == math.sqrt(SILOS * RECORDS_HOLDERS) * charged.releases[-1].noise_stddev


def test_holders_that_hold_nothing_add_their_noise_too() -> None:
    noised, charged = asked_holders(opened(declared(holders=2 * SILOS)))
    assert not refused(noised, math.sqrt(2 * SILOS) * charged.releases[-1].noise_stddev)
    assert refused(noised, math.sqrt(SILOS) * charged.releases[-1].noise_stddev)


def test_a_silo_of_which_no_record_was_drawn_sends_noise_all_the_same() -> None:
    """Else a missing message, or a sum with less noise, would show the draw."""
    drawn = declared(sampling="poisson", clients_per_round=1)
    noised, charged = asked_holders(opened(drawn))
    assert not refused(noised, math.sqrt(SILOS) * charged.releases[-1].noise_stddev)
    assert summed_stddev(charged) == math.sqrt(SILOS) * charged.releases[-1].noise_stddev


def test_whoever_holds_one_record_sends_what_the_record_would() -> None:
    """Byte for byte: where holder and unit are one, nothing has changed."""

    def said(samples: PrivateSamples) -> Iterable[Block]:
        return [Block(samples.unit, samples.features[:, :7])]

    own = opened(declared(holders=SILOS * RECORDS_HOLDERS), (), query(7))
    each = opened(declared(holders=None), (), query(7))
    by_holder = asked_holders(own, held(UNIT), dim=7, said=said).sum
    assert by_holder.tobytes() == asked_holders(each, held(None), dim=7, said=said).sum.tobytes()


@settings(max_examples=40)
@given(
    messages=st.lists(
        st.tuples(st.integers(0, SILOS * RECORDS_HOLDERS - 1), st.integers(-9, 9)), unique_by=lambda one: one[0]
    )
)
def test_a_holder_sends_the_sum_of_its_records_and_every_holder_sends(messages: list[tuple[int, int]]) -> None:
    sums = sums_by_holder(((u, np.array([v])) for u, v in messages), held())
    sent = dict(sent_by_holders([sums], held(), opened(), 1))
    assert sent.keys() == set(HOLDER.tolist())
    for holder, total in sent.items():
        assert total == sum(value for unit, value in messages if HOLDER[unit] == holder)


def test_a_record_moves_its_holder_s_message_alone_and_by_no_more_than_is_priced() -> None:
    plan = planned_sum(query(3), declared(), SILOS * RECORDS_HOLDERS)
    cut = [Block(UNIT, np.random.default_rng(0).normal(scale=9, size=(len(UNIT), 3)))]
    whole = dict(client_messages(cut, plan, UNIT, KEY_HOLDERS, ("stream",)))
    less = {**whole, 0: np.zeros(3, dtype=np.int64)}
    limit = plan.release.sensitivity / plan.step
    sums = (sums_by_holder(one.items(), held()) for one in (whole, less))
    before, after = (dict(sent_by_holders([one], held(), opened(), 3)) for one in sums)
    assert [holder for holder in before if (before[holder] != after[holder]).any()] == [HOLDER[0]]
    assert 0.9 * limit < np.linalg.norm(before[HOLDER[0]] - after[HOLDER[0]]) <= limit


def test_the_price_is_that_of_one_draw() -> None:
    """The server sees each silo's message: a record is hidden by the noise of its own silo, and by no other's."""
    by_silo, by_record = asked_holders(opened()).ledger, asked_holders(opened(declared(holders=None))).ledger
    assert by_silo.epsilon() == by_record.epsilon() > 0


def test_shares_under_secure_aggregation_come_from_holders() -> None:
    """A million records' shares would be thinner than the grid; five silos' are not."""
    round_counts = {"aggregation": "secure", "population": 10**9}
    thin = query(1, noise_multiplier=0.5)
    with refuses("shares-are-no-gaussian", value=1000000000):
        planned_sum(thin, declared(**round_counts, holders=None), 10**9)
    assert planned_sum(thin, declared(**round_counts), 10**9).draws == 1


@pytest.mark.parametrize("part", [1.0, 0.75, 0.1])
def test_a_client_that_loses_its_last_record_sends_all_the_same(part: float) -> None:
    """Whatever part of the records is asked: how many hold one of that part is private."""
    ledger = opened_ledger([query()], declared(), round(part * SILOS * RECORDS_HOLDERS))
    others = held().of_units(UNIT[HOLDER[0] != HOLDER])
    with_it, without = (dict(sent_by_holders([], samples, ledger, 1)) for samples in (held(), others))
    assert len(with_it) == len(without) == holders_of(ledger) == SILOS
    assert HOLDER[0] in with_it.keys() - without.keys()


def test_who_holds_what_must_be_told_and_be_as_declared() -> None:
    with refuses("holders-unknown"):
        asked_holders(opened(), held(None))
    with refuses("more-holders-than-declared", parameter="privacy.holders", value=4):
        asked_holders(opened(declared(holders=4)))
    twice = PrivateSamples.of_one_class(np.eye(2), np.array([1, 1]), np.array([5, 6]))
    with refuses("unit-of-two-holders"):
        asked_holders(opened(), twice)


@pytest.mark.parametrize("changed", [{"unit": "client"}, {"population": None}])
def test_holders_are_of_a_declared_number_of_records(changed: dict[str, Any]) -> None:
    with refuses("holders-without-population", parameter="privacy.holders", value=5):
        declared(**changed)


def test_a_declaration_without_holders_is_written_as_it_always_was() -> None:
    assert "holders" not in declared(holders=None).draw_name()
    assert "holders" in declared().draw_name()
    assert declared(holders=7) == Privacy.model_validate_json(declared(holders=7).model_dump_json())


PARTIES = tuple(Party(name=name, kind="silo", population=RECORDS_HOLDERS, epsilon=8.0) for name in NAMES)


def ones(samples: PrivateSamples) -> Iterable[Block]:
    """Every record sends 1 in the place of its silo."""
    place = {code: i for i, code in enumerate(unit_codes(NAMES).tolist())}
    assert samples.holder is not None
    return [Block(samples.unit, np.eye(SILOS)[[place[code] for code in samples.holder.tolist()]])]


@pytest.mark.parametrize("aggregation", ["local", "secure", "trusted"])
def test_only_the_parties_that_are_asked_are_in_the_sum_and_pay(aggregation: Any) -> None:
    two = query(SILOS, parties=NAMES[1:3], noise_multiplier=0.9)
    ledger = opened(declared(aggregation=aggregation, holders=None, population=None), PARTIES, two)
    noised, charged = asked_holders(ledger, dim=SILOS, parties=NAMES[1:3], noise_multiplier=0.9, said=ones)
    assert np.round(noised / RECORDS_HOLDERS).tolist() == [0, 1, 1, 0, 0]
    spent = [charged.spent(party=name) for name in NAMES]
    assert spent[0] == spent[3] == spent[4] == 0
    assert spent[1] == spent[2] == charged.epsilon() > 0
    assert summed_stddev(charged) == pytest.approx((2**0.5 if aggregation == "local" else 1) * 0.9, rel=1e-2)


def test_local_noise_is_that_of_the_parties_that_are_asked() -> None:
    three = {"parties": NAMES[:3]}
    ledger = opened(declared(holders=None, population=None), PARTIES, query(**three))
    noised, charged = asked_holders(ledger, **three)
    assert not refused(noised, math.sqrt(3) * charged.releases[-1].noise_stddev)
    assert refused(noised, math.sqrt(SILOS) * charged.releases[-1].noise_stddev)


def test_a_joint_sum_and_one_of_a_party_are_paid_for_apart() -> None:
    joint, alone = query(5, noise_multiplier=2.0), query(5, name="own", noise_multiplier=1.0, parties=NAMES[:1])
    ledger = opened(declared(holders=None, population=None), PARTIES, joint, alone)
    ledger = asked_holders(ledger, dim=5, noise_multiplier=2.0, said=ones).ledger
    before = [ledger.spent(party=name) for name in NAMES]
    ledger = asked_holders(ledger, dim=5, name="own", noise_multiplier=1.0, parties=NAMES[:1], said=ones).ledger
    assert ledger.spent(party=NAMES[0]) > before[0]
    assert [ledger.spent(party=name) for name in NAMES[1:]] == before[1:]


def test_a_party_that_cannot_pay_is_not_asked() -> None:
    poor = (*PARTIES[:-1], PARTIES[-1].model_copy(update={"epsilon": 0.1}))
    with refuses("budget-exceeded") as caught:
        opened(declared(holders=None, population=None), poor, query(5, noise_multiplier=1.0))
    assert caught.value.party == "silo 4"


def test_samples_are_the_known_parties_and_as_many_as_they_declare() -> None:
    privacy = declared(holders=None, population=None)
    fewer = tuple(party.model_copy(update={"population": RECORDS_HOLDERS + 10}) for party in PARTIES[:-1])
    with refuses("held-by-nobody"):
        asked_holders(opened(privacy, fewer))
    small = (PARTIES[0].model_copy(update={"population": 1}), *PARTIES[1:-1],
             PARTIES[-1].model_copy(update={"population": 2 * RECORDS_HOLDERS - 1}))  # fmt: skip
    with refuses("more-units-than-party-declares", value=1):
        asked_holders(opened(privacy, small))
    with refuses("holders-unknown"):
        asked_holders(opened(privacy, PARTIES), held(None))
    with refuses("unknown-party", value="nobody"):
        opened(privacy, PARTIES, query(parties=("nobody",)))


def test_a_digest_covers_all_that_is_held_and_one_order_is_that_of_no_table() -> None:
    held = PrivateSamples(np.eye(3), np.array([1, 2, 2]), np.array([0, 0, 1]), np.array([1, 2, 3])).in_one_order()
    for turned in ([2, 0, 1], [0, 2, 1], [1, 0, 2]):
        table = PrivateSamples(held.features[turned], held.unit[turned], held.label[turned], np.array([3, 1, 2]))
        assert table.digest != held.digest
        assert table.in_one_order().digest == held.digest
        np.testing.assert_array_equal(table.in_one_order().features, held.features)
    assert held.in_one_order() is held  # a large federation's embeddings are not copied again
    others = [
        replace(held, features=2 * np.eye(3)),
        replace(held, unit=np.array([1, 1, 2])),
        replace(held, label=np.array([0, 1, 0])),
        replace(held, label=np.array([0, 1, 1])),
        replace(held, enrolled=np.array([1, 2])),
        replace(held, holder=np.array([7, 7, 7])),
        held.of_units(np.array([2])),
    ]
    assert len({held.digest, *(other.digest for other in others)}) == 1 + len(others)
