"""Participation: who is drawn, how many, and from which stream."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedtext.federation.participation import participants, scheduled
from fedtext.params.privacy import Sampling
from fedtext.privacy.noise import NoiseKey, new_noise_key

KEY = new_noise_key(5)


def draw(sampling: Sampling, round: int = 1, n: int = 200, m: int | None = 50, key: NoiseKey = KEY) -> np.ndarray:
    return participants(n, sampling=sampling, clients_per_round=m, key=key, stream=("a release", str(round)))


def test_full_takes_everybody() -> None:
    assert np.array_equal(draw("full", m=None), np.arange(200))


def test_fixed_size_takes_exactly_that_many_distinct_clients() -> None:
    for round in range(50):
        drawn = draw("fixed_size", round)
        assert drawn.size == np.unique(drawn).size == 50
        assert (np.diff(drawn) > 0).all()
        assert drawn[0] >= 0
        assert drawn[-1] < 200
    assert draw("fixed_size", m=200).size == 200


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_every_client_is_equally_likely(sampling: Sampling) -> None:
    counts = np.zeros(200)
    for round in range(400):
        counts[draw(sampling, round)] += 1
    expected = np.full(200, 400 * 0.25)
    statistic = np.square(counts - expected).sum() / (expected[0] * 0.75)
    assert 1e-3 < stats.chi2.sf(statistic, 200) < 1 - 1e-3


def test_a_poisson_draw_has_a_binomial_size() -> None:
    sizes = np.array([draw("poisson", round).size for round in range(400)])
    assert abs(sizes.mean() - 50) < 4 * np.sqrt(200 * 0.25 * 0.75 / 400)
    assert 0.75 < sizes.var() / (200 * 0.25 * 0.75) < 1.3


def test_a_poisson_draw_may_be_empty() -> None:
    sizes = [draw("poisson", round, n=3, m=1).size for round in range(40)]
    assert 0 in sizes
    assert max(sizes) > 1


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_a_draw_repeats_and_depends_on_round_and_key(sampling: Sampling) -> None:
    assert np.array_equal(draw(sampling), draw(sampling))
    assert not np.array_equal(draw(sampling), draw(sampling, round=2))
    assert not np.array_equal(draw(sampling), draw(sampling, key=new_noise_key(6)))


@pytest.mark.parametrize("clients_per_round", [None, 0, 201])
@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_impossible_sizes_are_refused(sampling: Sampling, clients_per_round: int | None) -> None:
    with pytest.raises(ValueError, match=r"clients_per_round.*1 to 200"):
        draw(sampling, m=clients_per_round)


def test_no_clients_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        draw("full", n=0)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 60), separation=st.integers(1, 20), rounds=st.integers(1, 50), key=st.integers(0, 10))
def test_a_schedule_keeps_its_separation_and_asks_everybody_in_turn(
    n: int, separation: int, rounds: int, key: int
) -> None:
    if separation > n:
        with pytest.raises(ValueError, match=f"separation {separation} with {n}"):
            scheduled(n, separation=separation, round=1, key=new_noise_key(key))
        return
    asked = [scheduled(n, separation=separation, round=t, key=new_noise_key(key)) for t in range(1, rounds + 1)]
    for client in range(n):
        turns = [t for t, who in enumerate(asked) if client in who]
        assert all(later - earlier == separation for earlier, later in itertools.pairwise(turns))
        assert rounds // separation <= len(turns) <= -(-rounds // separation)
    for who in asked:
        assert len(who) in (n // separation, -(-n // separation))
        assert np.array_equal(who, np.unique(who))
    cycle = np.concatenate(asked[:separation])
    assert len(cycle) == len(np.unique(cycle))


def test_the_places_of_a_schedule_are_drawn_by_the_key() -> None:
    first, other = (scheduled(1000, separation=4, round=1, key=new_noise_key(k)) for k in (1, 2))
    assert len(np.intersect1d(first, other)) < 100
    with pytest.raises(ValueError, match="round 0"):
        scheduled(10, separation=2, round=0, key=new_noise_key(1))
