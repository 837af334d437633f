"""Bradley-Terry heads: the descent is the loss's gradient, bounded, each pair's own; training orders the pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scorers import fitted
from fedtext.training.bradley_terry import descents, sigmoid


@given(st.integers(0, 300))
def test_a_descent_is_minus_the_loss_s_gradient_by_finite_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta, z = rng.normal(size=(1, 4)), rng.normal(size=(1, 4))

    def loss(at: np.ndarray) -> float:
        return float(np.log1p(np.exp(-(at @ z.T)))[0, 0])

    step = 1e-6
    found = [(loss(theta - step * e) - loss(theta + step * e)) / (2 * step) for e in np.eye(4)]
    assert descents(theta, z, np.zeros(1, dtype=np.int64))[0] == pytest.approx(np.array(found), abs=1e-6)


def test_a_descent_is_no_longer_than_its_difference_and_depends_on_no_other_pair() -> None:
    rng = np.random.default_rng(0)
    heads, rows, own = rng.normal(size=(3, 5)), rng.normal(size=(40, 5)), rng.integers(-1, 3, 40)
    found = descents(heads, rows, own)
    assert (np.linalg.norm(found, axis=1) <= np.linalg.norm(rows, axis=1)).all()
    assert not found[own < 0].any()
    assert np.array_equal(found[7:9], descents(heads, rows[7:9], own[7:9]))


def test_training_orders_pairs_and_large_margins_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 6))
    rows[rows[:, 0] < 0] *= -1
    theta = fitted(rows, steps=60, learning_rate=1.0)
    assert np.mean(rows @ theta[0] > 0) > 0.95
    assert sigmoid(np.array([-1e4, 0.0, 1e4])) == pytest.approx([0.0, 0.5, 1.0])
