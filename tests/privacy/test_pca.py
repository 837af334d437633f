"""Second moments as vectors: their norm is the row's squared, signs do not matter, and directions come back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedtext.privacy.pca import main_directions, second_moment, triangle_size, upper_triangles
from tests.refusals import refuses

ROWS = arrays(np.float64, (2, 5), elements=st.floats(-3, 3))


@given(ROWS)
def test_a_triangle_s_norm_is_the_row_s_squared(rows: np.ndarray) -> None:
    triangles = upper_triangles(rows)
    assert triangles.shape == (2, triangle_size(5))
    assert np.linalg.norm(triangles, axis=1) == pytest.approx((rows**2).sum(axis=1), abs=1e-9)


@given(ROWS)
def test_flipping_a_row_changes_nothing_and_two_are_at_most_a_right_angle_apart(rows: np.ndarray) -> None:
    assert np.array_equal(upper_triangles(rows), upper_triangles(-rows))
    first, second = upper_triangles(rows)
    assert first @ second == pytest.approx((rows[0] @ rows[1]) ** 2, abs=1e-8)  # so replacing one moves by sqrt2 R^2


def test_the_matrix_comes_back() -> None:
    rows = np.random.default_rng(0).normal(size=(9, 4))
    assert second_moment(upper_triangles(rows).sum(axis=0), 4) == pytest.approx(rows.T @ rows)


def test_main_directions_are_orthonormal_the_largest_first_and_of_one_sign() -> None:
    found = main_directions(np.diag([1.0, 9.0, 4.0]), 2)
    assert found == pytest.approx(np.array([[0, 0], [1, 0], [0, 1]], dtype=float))
    with refuses("too-many-directions", value=4):
        main_directions(np.eye(3), 4)
