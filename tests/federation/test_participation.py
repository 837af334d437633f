"""Participation: who is drawn, how many, and from which stream."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fedtext.federation.participation import participants
from fedtext.params.privacy import Sampling
from fedtext.privacy.noise import NoiseKey, new_noise_key

KEY = new_noise_key(5)


def draw(
    sampling: Sampling, round: int = 1, n: int = 200, m: int | None = 50, key: NoiseKey | None = None
) -> np.ndarray:
    return participants(n, sampling=sampling, clients_per_round=m, seed=3, round=round, key=key)


def test_full_takes_everybody() -> None:
    assert np.array_equal(draw("full", m=None), np.arange(200))


@pytest.mark.parametrize("key", [None, KEY])
def test_fixed_size_takes_exactly_that_many_distinct_clients(key: NoiseKey | None) -> None:
    for round in range(50):
        drawn = draw("fixed_size", round, key=key)
        assert drawn.size == np.unique(drawn).size == 50
        assert (np.diff(drawn) > 0).all()
        assert drawn[0] >= 0
        assert drawn[-1] < 200
    assert draw("fixed_size", m=200, key=key).size == 200


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_every_client_is_equally_likely(sampling: Sampling, key: NoiseKey | None) -> None:
    counts = np.zeros(200)
    for round in range(400):
        counts[draw(sampling, round, key=key)] += 1
    expected = np.full(200, 400 * 0.25)
    statistic = np.square(counts - expected).sum() / (expected[0] * 0.75)
    assert 1e-3 < stats.chi2.sf(statistic, 200) < 1 - 1e-3


@pytest.mark.parametrize("key", [None, KEY])
def test_a_poisson_draw_has_a_binomial_size(key: NoiseKey | None) -> None:
    sizes = np.array([draw("poisson", round, key=key).size for round in range(400)])
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
    assert not np.array_equal(draw(sampling), draw(sampling, key=KEY))
    assert np.array_equal(draw(sampling, key=KEY), draw(sampling, key=new_noise_key(5)))


@pytest.mark.parametrize("clients_per_round", [None, 0, 201])
@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_impossible_sizes_are_refused(sampling: Sampling, clients_per_round: int | None) -> None:
    with pytest.raises(ValueError, match=r"clients_per_round.*1 to 200"):
        draw(sampling, m=clients_per_round)


def test_no_clients_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        draw("full", n=0)
