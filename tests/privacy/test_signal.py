"""Noise over signal: what its words say, in draws of real noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.privacy.noise import discrete_gaussian, new_noise_key
from fedtext.privacy.signal import Signal


def signal(**changes: Any) -> Signal:
    fields = {"release": "sum", "use": "vector", "unit": "client", "population": 68, "asked": 68.0}
    return Signal.model_validate({**fields, "numbers": 2048, "noise": 3.73, **changes})


def noise(numbers: int, stddev: float) -> np.ndarray:
    """Real noise, on a fine grid."""
    step = 2.0**-8
    drawn = discrete_gaussian(new_noise_key(3), stddev_on_grid=stddev / step, size=numbers, stream=("test",))
    return np.asarray(drawn * step)


def test_of_a_vector_it_is_the_length_of_the_noise_over_that_of_all_contributions() -> None:
    """68 clients, the default release, epsilon 1: 2.5."""
    length = np.linalg.norm(noise(2048, 3.73))
    assert signal().ratio == pytest.approx(length / 68, rel=0.05)
    assert f"{signal().ratio:.2g}" == "2.5"


def test_of_votes_it_is_what_the_luckiest_candidate_gets_by_noise_alone() -> None:
    lucky = np.mean([block.max() for block in noise(256 * 200, 7.5).reshape(200, 256)])
    assert signal(use="votes", numbers=256, noise=7.5).ratio * 68 == pytest.approx(lucky, rel=0.2)


def test_of_a_training_it_is_the_length_over_all_steps() -> None:
    steps = noise(30 * 500, 2.0).reshape(30, 500).sum(axis=0)
    found = signal(use="training", numbers=500, noise=2.0, asked=64.0, population=5000, steps=30)
    assert found.ratio == pytest.approx(np.linalg.norm(steps) / (64 * 30), rel=0.1)
    assert found.of_one_step == pytest.approx(2.0 * 500**0.5 / 64)


@given(st.integers(2, 10**6), st.floats(0.1, 1e4), st.sampled_from(["vector", "votes", "training"]))
def test_more_units_or_less_noise_are_heard_better(population: int, stddev: float, use: str) -> None:
    here: dict[str, Any] = {"use": use, "population": population, "asked": float(population), "noise": stddev}
    assert signal(**{**here, "noise": stddev / 2}).ratio == pytest.approx(signal(**here).ratio / 2)
    assert signal(**{**here, "asked": 2.0 * population}).ratio == pytest.approx(signal(**here).ratio / 2)


@pytest.mark.parametrize(("draws", "expected"), [(1, 675), (68, 6688)])
def test_under_local_noise_more_units_help_with_their_square_root_alone(draws: float, expected: int) -> None:
    assert signal(draws=draws).population_for(0.25) == pytest.approx(expected, rel=0.01)


def test_training_may_have_noise_as_large_as_its_signal() -> None:
    assert signal(noise=1.0, asked=100.0).drowns
    assert not signal(noise=1.0, asked=100.0, use="training").drowns
