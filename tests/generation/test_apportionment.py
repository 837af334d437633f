"""A whole number of texts, in proportion: the sum is kept, scale does not matter, nobody is off by one or more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.generation.apportionment import apportion, proportions, split_evenly
from tests.refusals import refuses

WEIGHTS = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=8).filter(lambda w: max(w) > 1e-3)


@given(st.integers(0, 10_000), WEIGHTS)
def test_parts_sum_and_are_nearly_exact(total: int, weights: list[float]) -> None:
    parts = apportion(total, weights)
    assert sum(parts) == total
    exact = [total * weight / math.fsum(weights) for weight in weights]
    assert all(abs(part - want) < 1 + 1e-6 for part, want in zip(parts, exact, strict=True))


@given(st.integers(0, 1000), WEIGHTS)
def test_scale_does_not_matter(total: int, weights: list[float]) -> None:
    assert apportion(total, weights) == apportion(total, [4 * weight for weight in weights])


def test_the_first_has_one_more() -> None:
    assert split_evenly(8, 3) == [3, 3, 2]
    assert apportion(10, [0.0, 1.0]) == [0, 10]


def test_largest_remainder_breaks_ties_by_index() -> None:
    assert apportion(4, [1.0, 1.0, 1.0]) == [2, 1, 1]
    assert apportion(7, [0.6, 0.3, 0.1]) == [4, 2, 1]


@pytest.mark.parametrize("weights", [[], [0.0], [-1.0, 2.0], [math.nan], [math.inf]])
def test_bad_weights(weights: list[float]) -> None:
    with refuses("unusable-weights"):
        apportion(4, weights)


@given(st.lists(st.floats(-50, 500), min_size=1, max_size=30))
def test_noisy_counts_become_shares_in_their_order(counts: list[float]) -> None:
    shares = proportions(np.array(counts))
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    order = np.argsort(counts, kind="stable")
    assert (np.diff(shares[order]) >= -1e-12).all()


def test_the_projection_is_the_nearest_point_of_the_simplex() -> None:
    noised = np.array([60.0, 50.0, -10.0])
    found = proportions(noised)
    np.testing.assert_allclose(found, [0.55, 0.45, 0.0])  # by hand: 0.05 off each positive share
    rng = np.random.default_rng(0)
    others = rng.dirichlet(np.ones(3), size=500)
    assert np.linalg.norm(found - noised / 100) <= np.linalg.norm(others - noised / 100, axis=1).min()


def test_pure_noise_means_equal_shares() -> None:
    for nothing in ([-3.0, 1.0, 0.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 2.0]):
        np.testing.assert_allclose(proportions(np.array(nothing)), 1 / 3)
