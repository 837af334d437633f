"""The analytic Gaussian: against the definition, against its own inverse, at extreme values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.privacy.gaussian import gaussian_delta, gaussian_epsilon, gaussian_shift

LINE = np.linspace(-15, 20, 350_001)


def density(centre: float) -> np.ndarray:
    return np.exp(-((LINE - centre) ** 2) / 2) / math.sqrt(2 * math.pi)


@settings(max_examples=25)
@given(shift=st.floats(0.05, 4), epsilon=st.floats(0, 6))
def test_delta_is_the_hockey_stick_divergence(shift, epsilon) -> None:
    excess = np.maximum(density(shift) - math.exp(epsilon) * density(0.0), 0)
    found = gaussian_delta(shift, np.array([epsilon]))[0]
    assert found == pytest.approx(excess.sum() * (LINE[1] - LINE[0]), abs=1e-8)


@settings(max_examples=100)
@given(epsilon=st.floats(1e-3, 200), log_delta=st.floats(-60, -1))
def test_shift_and_epsilon_are_inverse(epsilon, log_delta) -> None:
    delta = math.exp(log_delta)
    assert gaussian_epsilon(gaussian_shift(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("shift", [1e-4, 1e-2, 1.0, 30.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.4, 0.9])
def test_epsilon_is_the_smallest(shift, delta) -> None:
    epsilon = gaussian_epsilon(shift, delta)
    assert gaussian_delta(shift, np.array([epsilon]))[0] <= delta * (1 + 1e-6)
    if epsilon > 0:
        assert gaussian_delta(shift, np.array([epsilon * 0.999]))[0] > delta
