"""Lloyd's step from noised values: means where there is something, the old centre where there is noise alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedtext.privacy.kmeans import mixture, moved_centres

CENTRES = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])


def test_a_centre_moves_to_its_mean_if_its_count_stands_out_and_stays_within_the_radius() -> None:
    sums = np.array([[5.0, 5.0], [30.0, 0.0], [0.3, 0.3]])
    found = moved_centres(CENTRES, np.array([10.0, 10.0, 3.9]), sums, stddev=2.0, radius=1.0)
    assert found == pytest.approx(np.array([[0.5, 0.5], [1.0, 0.0], [-1.0, 0.0]]))


def test_an_empty_cluster_without_noise_divides_by_nothing() -> None:
    assert moved_centres(CENTRES, np.zeros(3), np.zeros((3, 2)), stddev=0.0, radius=1.0) == pytest.approx(CENTRES)


@given(arrays(np.float64, 4, elements=st.floats(-50, 50)), arrays(np.bool_, 4))
def test_a_mixture_is_one(counts: np.ndarray, kept: np.ndarray) -> None:
    shares = mixture(counts, kept)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= 0).all()
    if kept.any():
        assert not shares[~kept].any()


def test_a_mixture_is_in_proportion_and_uniform_where_nothing_is_left() -> None:
    assert mixture(np.array([30.0, 10.0, -5.0])) == pytest.approx([0.75, 0.25, 0.0])
    assert mixture(np.array([-1.0, -2.0])) == pytest.approx([0.5, 0.5])
    assert mixture(np.array([-1.0, 3.0, 1.0]), np.array([True, False, True])) == pytest.approx([0.0, 0.0, 1.0])
