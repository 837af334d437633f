"""Clipping: the bound holds exactly, short rows stay, broken rows become zeros."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedtext.privacy import clipping
from fedtext.privacy.clipping import clip_factor, clip_factors, clip_rows
from tests.refusals import refuses

ROWS = arrays(np.float64, (4, 5), elements=st.floats(-1e9, 1e9, width=64))


@settings(max_examples=100)
@given(rows=ROWS, clip_norm=st.floats(1e-3, 1e3))
def test_no_row_is_longer_than_the_clip_norm_in_exact_arithmetic(rows: np.ndarray, clip_norm: float) -> None:
    for row in clip_rows(rows, clip_norm):
        assert sum(Fraction(float(value)) ** 2 for value in row) <= Fraction(clip_norm) ** 2


def test_long_rows_keep_their_direction_and_reach_the_norm() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 30)) * 10
    clipped = clip_rows(rows, 2.0)
    np.testing.assert_allclose(np.linalg.norm(clipped, axis=1), 2.0, rtol=1e-8)
    np.testing.assert_allclose(
        clipped / np.linalg.norm(clipped, axis=1, keepdims=True),
        rows / np.linalg.norm(rows, axis=1, keepdims=True),
        rtol=1e-12,
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [1, 7, 301, 5000])
def test_a_clipped_row_s_bits_do_not_depend_on_company(order: Literal["C", "F"], dtype: str, dim: int) -> None:
    rows = np.asarray(np.random.default_rng(0).normal(size=(50, dim)) * 3, dtype=dtype, order=order)
    alone = [clip_rows(rows[i : i + 1], 1.0).tobytes() for i in range(50)]
    assert [row.tobytes() for row in clip_rows(rows, 1.0)] == alone
    assert [row.tobytes() for row in clip_rows(rows[13:], 1.0)] == alone[13:]


def test_short_and_zero_rows_stay_as_they_are() -> None:
    rows = np.array([[0.0, 0.0], [0.3, -0.4], [1e-200, 0.0]])
    assert np.array_equal(clip_rows(rows, 1.0), rows)


def test_wide_rows_stay_below_the_norm_despite_rounding() -> None:
    rows = np.random.default_rng(1).uniform(0.5, 1.0, size=(1, 20_000))
    clipped = clip_rows(rows, 1.0)[0]
    assert sum(Fraction(float(value)) ** 2 for value in clipped) <= 1


def test_norms_are_summed_in_parts_whatever_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(2).normal(size=(5, 103))
    whole = clip_rows(rows, 0.5)
    monkeypatch.setattr(clipping, "_PART", 10)
    np.testing.assert_allclose(clip_rows(rows, 0.5), whole, rtol=1e-14)
    assert clip_rows(np.zeros((2, 0)), 1.0).shape == (2, 0)


def test_single_precision_is_clipped_in_double() -> None:
    rows = np.full((1, 7), 3.0, dtype=np.float32)
    clipped = clip_rows(rows, 1.0)
    assert clipped.dtype == np.float64
    assert np.linalg.norm(clipped) == pytest.approx(1.0, rel=1e-8)


def test_factors() -> None:
    np.testing.assert_allclose(clip_factors(np.array([0.0, 0.5, 1.0, 4.0]), 1.0), [1, 1, 1, 0.25], rtol=1e-8)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_a_broken_row_becomes_zeros_and_leaves_the_others_as_they_are(bad: float) -> None:
    """Whether a release happens at all must not be one client's say."""
    rows = np.full((3, 2), 0.5)
    rows[1, 0] = bad
    assert np.array_equal(clip_rows(rows, 1.0), [[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_factors_of_broken_norms_are_refused(bad: float) -> None:
    with refuses("contribution-not-finite"):
        clip_factors(np.array([1.0, bad]), 1.0)


@pytest.mark.parametrize("clip_norm", [0.0, -1.0, np.nan, np.inf])
def test_a_clip_norm_must_be_positive_and_finite(clip_norm: float) -> None:
    with refuses("clip-norm-out-of-range", parameter="clip_norm"):
        clip_rows(np.ones((1, 2)), clip_norm)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_the_factor_of_a_row_is_what_it_is_multiplied_by(
    dtype: str, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clipping, "_PART", 1000)  # the row has several, and a last one that is shorter
    row = (scale * np.random.default_rng(0).normal(size=70_321)).astype(dtype)
    factor = clip_factor(row, 2.0)
    assert (factor < 1) == (scale == 1.0 or scale == 1e6)
    assert (row.astype(np.float64) * factor).tobytes() == clip_rows(row[None], 2.0)[0].tobytes()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1e200])
def test_a_row_that_cannot_be_squared_has_the_factor_of_zeros(odd: float) -> None:
    assert clip_factor(np.array([0.5, odd, 0.5]), 1.0) == 0
