"""Spherical k-means: well-separated groups are found whatever the draw, and centres are unit vectors of means."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.embedding.clusters import spherical_centres
from fedtext.embedding.similarity import nearest, unit_length

AXES = np.eye(6)


@pytest.mark.parametrize("seed", range(5))
def test_centres_are_fixed_points_and_the_means_of_their_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = unit_length(np.repeat(AXES[:3], 40, axis=0) + 0.05 * rng.standard_normal((120, 6)))
    centres = spherical_centres(rows, 3, seed)
    own = nearest(rows.astype(np.float32), centres.astype(np.float32))[0]
    for number in np.unique(own):
        np.testing.assert_allclose(centres[number], unit_length(rows[own == number].sum(axis=0)[None])[0], atol=1e-9)


def test_as_many_groups_as_centres_that_start_in_each_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    rows = unit_length(np.repeat(AXES[:2], 50, axis=0) + 0.1 * rng.standard_normal((100, 6)))
    found = [spherical_centres(rows, 2, seed) for seed in range(8)]
    apart = [abs(float(one[0] @ one[1])) < 0.2 for one in found]
    assert all(apart)


def test_the_same_seed_gives_the_same_centres_and_another_others() -> None:
    rows = unit_length(np.random.default_rng(0).standard_normal((60, 6)))
    first = spherical_centres(rows, 4, 0)
    assert np.array_equal(first, spherical_centres(rows, 4, 0))
    assert not np.array_equal(first, spherical_centres(rows, 4, 1))
