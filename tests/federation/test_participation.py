"""Participation: who is drawn, how many, from which stream, and that nobody's lot depends on who else is enrolled."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedtext.federation.participation import participants, scheduled
from fedtext.federation.units import unit_codes
from fedtext.params.privacy import Sampling
from fedtext.privacy.noise import NoiseKey, new_noise_key

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
    with pytest.raises(ValueError, match=r"clients_per_round.*1 to 200"):
        draw(sampling, m=clients_per_round)


def test_no_clients_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
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
    with pytest.raises(ValueError, match="round 0"):
        scheduled(enrolled, separation=2, round=0, key=new_noise_key(1))
    with pytest.raises(ValueError, match="separation 0"):
        scheduled(enrolled, separation=0, round=1, key=new_noise_key(1))
