"""Bounded range: the Gaussian that is charged is above every sequence of draws, and near what zCDP gives from above."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.privacy.bounded_range import dominating_shift, largest_range, unit_shift
from fedtext.privacy.dominating_pairs import gaussian_delta, gaussian_epsilon, gaussian_shift
from tests.refusals import refuses


def divergence(p: np.ndarray, q: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    return np.array([np.maximum(p - math.exp(e) * q, 0).sum() for e in epsilon])


def exponential(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


@given(
    scores=st.lists(st.floats(-3, 3), min_size=2, max_size=5),
    moves=st.lists(st.floats(0, 1), min_size=15, max_size=15),
    range_=st.floats(0.05, 2.0),
)
@settings(deadline=None, max_examples=60)
def test_no_three_adaptive_draws_diverge_more_than_the_charged_gaussian(
    scores: list[float], moves: list[float], range_: float
) -> None:
    """Two tokens decide how the third is moved: every history has moves of its own within the range."""
    base, given = np.array(scores), iter(np.resize(moves, 10**4))
    shift, worlds = dominating_shift(range_, 3), []

    def histories(depth: int) -> tuple[np.ndarray, np.ndarray]:
        if depth == 0:
            return np.ones(1), np.ones(1)
        moved = base + range_ * np.array([next(given) for _ in scores])
        p, q = exponential(moved), exponential(base)
        below = [histories(depth - 1) for _ in scores]
        return (
            np.concatenate([one * below[i][0] for i, one in enumerate(p)]),
            np.concatenate([one * below[i][1] for i, one in enumerate(q)]),
        )

    worlds = histories(3)
    epsilon = np.linspace(0, 3 * range_, 40)
    for p, q in (worlds, worlds[::-1]):
        assert (divergence(p, q, epsilon) <= gaussian_delta(shift, epsilon) + 1e-12).all()


@pytest.mark.parametrize(("tokens", "range_"), [(1, 0.4), (1, 2.0), (4, 0.3)])
def test_the_worst_draws_come_near_the_charged_gaussian(tokens: int, range_: float) -> None:
    """A price that were twice as high would be safe and useless: draws of two tokens reach nine tenths of it."""
    shift, best = dominating_shift(range_, tokens), 0.0
    for t in np.linspace(0.05, 0.95, 19) * range_:
        up = -math.expm1(t - range_) / -math.expm1(-range_)
        p = q = np.ones(1)
        for _ in range(tokens):
            one = np.array([up, 1 - up])
            p, q = np.outer(p, one).ravel(), np.outer(q, one * np.exp([-t, range_ - t])).ravel()
        assert q.sum() == pytest.approx(1)
        best = max(best, float(np.maximum(p - q, 0).sum()) / float(gaussian_delta(shift, np.zeros(1))[0]))
    assert 0.9 < best <= 1


@pytest.mark.parametrize("tokens", [8, 32, 64])
@pytest.mark.parametrize("range_", [0.02, 0.2])
def test_it_is_above_concentrated_privacy_by_a_few_percent(tokens: int, range_: float) -> None:
    """r^2 / 8 a token is the zCDP of a Gaussian of shift r / 2; no exact price can be below it by more than nothing."""
    zcdp = math.sqrt(tokens) * range_ / 2
    assert 1.0 < dominating_shift(range_, tokens) / zcdp < 1.06


@pytest.mark.parametrize("tokens", [32, 72])
def test_it_costs_less_than_zcdp_turned_into_epsilon(tokens: int) -> None:
    """What zCDP proves (Bun and Steinke, 2016, Proposition 1.3) is looser than the exact price."""
    shift, delta = gaussian_shift(1.0, 1e-5), 1e-5
    rho = tokens * largest_range(shift, tokens) ** 2 / 8
    assert gaussian_epsilon(shift, delta) < rho + 2 * math.sqrt(rho * math.log(1 / delta))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_calibrated_range_keeps_the_budget_and_uses_it(epsilon: float) -> None:
    shift = gaussian_shift(epsilon, 1e-5)
    found = largest_range(shift, 24)
    assert 0.998 * shift < unit_shift(found, 24) <= shift
    assert dominating_shift(2 * found, 24) <= 2 * unit_shift(found, 24)  # replace_one is charged twice the shift


def test_more_tokens_leave_less_for_each() -> None:
    assert largest_range(0.25, 16) > largest_range(0.25, 64) > largest_range(0.25, 256)


@pytest.mark.parametrize(("range_", "tokens"), [(0.1, 0), (0.1, 513), (0.0, 4), (40.0, 4)])
def test_what_cannot_be_priced_is_refused(range_: float, tokens: int) -> None:
    with refuses("too-many-tokens-planned" if range_ == 0.1 else "range-out-of-bounds"):
        dominating_shift(range_, tokens)
