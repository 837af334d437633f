"""Quantisation: a power-of-two grid, unbiased rounding, and a sensitivity no rounding can pass."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.quantisation import RANGE, adjusted_sensitivity, grid_step, randomly_rounded, rounded_stretches
from tests.refusals import refuses


@given(clip_norm=st.floats(1e-6, 1e6), dim=st.integers(1, 200_000))
def test_the_default_step_is_a_power_of_two_that_inflates_by_less_than_a_thousandth(clip_norm: float, dim: int) -> None:
    step = grid_step(clip_norm, dim)
    assert math.frexp(step)[0] == 0.5
    assert 1.0004 < adjusted_sensitivity(clip_norm, step, dim) / clip_norm < 1.001


def test_a_coarser_grid_on_request() -> None:
    assert grid_step(1.0, 4, inflation=0.5) == 0.25
    assert adjusted_sensitivity(1.0, 0.25, 4) == pytest.approx(1.5)


@pytest.mark.parametrize("clip_norm", RANGE)
@pytest.mark.parametrize("dim", [1, 2**26])
def test_the_widest_clip_norms_round_as_others_do(clip_norm: float, dim: int) -> None:
    step = grid_step(clip_norm, dim)
    rounded = randomly_rounded(np.array([[clip_norm, 0.0, -clip_norm]]), step, np.random.default_rng(0))
    most = int(clip_norm / step) + 1
    assert rounded[0, 1] == 0
    assert 1000 <= rounded[0, 0] <= most
    assert -most <= rounded[0, 2] <= -1000


@pytest.mark.parametrize(
    ("clip_norm", "dim"),
    [(0.0, 3), (-1.0, 3), (math.nan, 3), (math.inf, 3), (1.0, 0), (1e-300, 3), (5e-324, 1), (1e300, 3)],
)
def test_impossible_grids_are_named(clip_norm: float, dim: int) -> None:
    with refuses("clip-norm-or-inflation-out-of-range" if dim else "no-coordinates"):
        grid_step(clip_norm, dim)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32), dim=st.integers(1, 40), scale=st.floats(0, 10), inflation=st.sampled_from([0.001, 1.0])
)
def test_no_rounding_passes_the_adjusted_sensitivity(seed: int, dim: int, scale: float, inflation: float) -> None:
    rng = np.random.default_rng(seed)
    step = grid_step(1.0, dim, inflation)
    clipped = clip_rows(rng.normal(size=(20, dim)) * scale, 1.0)
    integers = randomly_rounded(clipped, step, rng)
    assert (np.abs(integers * step - clipped) <= step).all()
    limit = Fraction(adjusted_sensitivity(1.0, step, dim)) / Fraction(step)
    assert max(sum(int(value) ** 2 for value in row) for row in integers) <= limit**2


def bias(rounded: np.ndarray, exact: np.ndarray) -> float:
    """Largest deviation of the mean over rows from `exact`, in its own standard errors."""
    spread = np.sqrt((exact % 1) * (1 - exact % 1) / rounded.shape[0])
    return float(np.max(np.abs(rounded.mean(axis=0) - exact) / spread))


def test_rounding_keeps_the_expectation() -> None:
    exact = np.array([0.1, -0.1, 0.5, 7.93, -1234.25, 0.01])
    rows = np.tile(exact * 0.25, (100_000, 1))
    assert bias(randomly_rounded(rows, 0.25, np.random.default_rng(2)), exact) < 4.5
    assert bias(np.rint(rows / 0.25), exact) > 30, "the test would not notice a biased rounding"


def test_values_on_the_grid_stay() -> None:
    grid = np.arange(-8, 9)[None, :]
    rounded = randomly_rounded(grid * 0.125, 0.125, np.random.default_rng(3))
    assert np.array_equal(rounded, grid)
    assert rounded.dtype == np.int64


def test_blocks_do_not_change_the_result() -> None:
    rows = np.random.default_rng(4).normal(size=(50, 7))
    whole = randomly_rounded(rows, 0.5, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    parts = [randomly_rounded(part, 0.5, rng) for part in np.split(rows, [1, 20, 33])]
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [1, 2**15 - 1, 2**15, 3 * 2**15 + 17])
def test_stretches_are_the_integers_of_the_whole_row(dim: int, dtype: str) -> None:
    row, factor = np.random.default_rng(6).normal(size=dim).astype(dtype), 0.123456789
    row[:3] = [0.0, 1e-40, -3.0][: len(row[:3])]
    step = grid_step(1.0, dim)
    whole = randomly_rounded((row.astype(np.float64) * factor)[None], step, np.random.default_rng(7))[0]
    found = np.full(dim, -1)
    for places, integers in rounded_stretches(row, factor, step, np.random.default_rng(7)):
        found[places] = integers
    assert np.array_equal(found, whole)
