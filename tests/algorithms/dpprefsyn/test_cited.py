"""The parts that the paper cites, as they are published: their distributions, and what they find without noise."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.algorithms.dpprefsyn import cited
from fedtext.privacy.pca import main_directions


def moments(seed: int, dim: int, rows: int = 500) -> np.ndarray:
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(rows, dim)) * np.linspace(2.0, 0.2, dim)
    made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1.0)
    return made.T @ made


@pytest.mark.parametrize("epsilon", [0.0, 2.0, 8.0])
def test_a_direction_has_the_density_that_the_paper_gives(epsilon: float) -> None:
    """On a circle: E cos^2 under exp(epsilon / 4 u'Cu), and neither under twice that slope nor under half of it."""
    moment, rng, draws = np.diag([3.0, 1.0]), np.random.default_rng(0), 2000
    angles = np.linspace(0, 2 * np.pi, 20001)

    def expected(slope: float) -> float:
        weight = np.exp(slope * (3 * np.cos(angles) ** 2 + np.sin(angles) ** 2))
        return float((weight * np.cos(angles) ** 2).sum() / weight.sum())

    found = np.mean([cited.sampled_eigenvector(moment, epsilon, rng)[0] ** 2 for _ in range(draws)])
    error = 4 * np.sqrt(0.125 / draws)
    assert found == pytest.approx(expected(epsilon / 4), abs=error)
    if epsilon:
        assert abs(found - expected(epsilon / 2)) > error
        assert abs(found - expected(epsilon / 8)) > error


def test_in_more_dimensions_the_density_is_that_of_importance_sampling() -> None:
    moment, rng = np.diag([6.0, 3.0, 1.0, 0.0]), np.random.default_rng(1)
    uniform = rng.standard_normal((200_000, 4))
    uniform /= np.linalg.norm(uniform, axis=1, keepdims=True)
    weight = np.exp(1.5 * np.einsum("ij,j,ij->i", uniform, np.diag(moment), uniform))
    expected = (weight[:, None] * uniform**2).sum(axis=0) / weight.sum()
    drawn = np.array([cited.sampled_eigenvector(moment, 6.0, rng) for _ in range(1500)])
    assert (drawn**2).mean(axis=0) == pytest.approx(expected, abs=0.03)
    assert np.abs((drawn**2).mean(axis=0) - 0.25).max() > 0.1


def test_directions_are_orthonormal_and_the_main_ones_without_noise() -> None:
    moment, rng = moments(2, 6), np.random.default_rng(3)
    noisy = cited.sampled_directions(moment, 4, 0.5, rng)
    assert noisy.T @ noisy == pytest.approx(np.eye(4), abs=1e-9)
    exact = cited.sampled_directions(moment, 3, 1e9, rng)
    assert np.abs(np.diag(exact.T @ main_directions(moment, 3))) == pytest.approx(np.ones(3), abs=1e-3)


def test_centres_are_those_of_the_clusters_without_noise_and_stay_in_the_box() -> None:
    rng = np.random.default_rng(4)
    middles = np.array([[-0.8, 0.0], [0.8, 0.1], [0.0, 0.9]])
    rows = np.concatenate([middle + 0.05 * rng.normal(size=(300, 2)) for middle in middles])
    found = cited.noised_lloyd(rows, 3, 1e9, rng)
    assert np.sort(found, axis=0) == pytest.approx(np.sort(middles, axis=0), abs=0.02)
    noisy = cited.noised_lloyd(rows, 3, 0.05, rng)
    assert (noisy >= rows.min(axis=0) - 1e-12).all()
    assert (noisy <= rows.max(axis=0) + 1e-12).all()
    assert not np.allclose(np.sort(noisy, axis=0), np.sort(middles, axis=0), atol=0.02)


def test_rounds_follow_the_budget_between_two_and_seven() -> None:
    assert cited.rounds_of(14167, 20, 5, 0.5) == 2
    assert cited.rounds_of(14167, 20, 5, 1e6) == 7
    least = np.sqrt(500 * 5**3 / 14167**2 * (20 + np.cbrt(4 * 20 * 0.225**2)) ** 3)
    assert cited.rounds_of(14167, 20, 5, 4.5 * least) == 4


def test_first_centres_keep_a_common_distance() -> None:
    low, high = np.array([-1.0, -1.0, -1.0]), np.array([1.0, 1.0, 1.0])
    found = cited.spread_centres(low, high, 5, np.random.default_rng(5))
    apart = np.linalg.norm(found[:, None] - found[None], axis=2)[np.triu_indices(5, 1)]
    assert apart.min() >= 0.5
    assert (np.abs(found) <= 1).all()
