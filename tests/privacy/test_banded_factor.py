"""The banded factor: its optimum against the reference library, a hand-made case, its derivative and its neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedtext.privacy.banded_factor import _squared_error, banded_factor, square_root_factor
from fedtext.privacy.factorisation import on_weight_grid, prefix_sums


def error(encoder: np.ndarray, workload: np.ndarray) -> float:
    return float(np.linalg.norm(workload @ np.linalg.inv(encoder)) / math.sqrt(len(encoder)))


@pytest.mark.parametrize("bands", [1, 3, 8])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_it_is_banded_not_negative_and_its_columns_have_norm_one(bands: int, momentum: float) -> None:
    found = banded_factor(prefix_sums(8, momentum), bands)
    assert (found >= 0).all()
    assert not found[np.subtract.outer(np.arange(8), np.arange(8)) >= bands].any()
    assert not np.triu(found, 1).any()
    assert np.allclose(np.linalg.norm(found, axis=0), 1)


def test_two_rounds_by_hand() -> None:
    """One free entry: the best of a fine grid is the optimum."""
    errors = {c: error(np.array([[math.sqrt(1 - c * c), 0], [c, 1]]), np.tri(2)) for c in np.arange(0, 0.9, 1e-4)}
    best = min(errors, key=lambda c: errors[c])
    assert banded_factor(np.tri(2), 2)[1, 0] == pytest.approx(best, abs=1e-4)


def test_no_neighbour_is_better() -> None:
    rng = np.random.default_rng(2)
    workload = prefix_sums(12)
    found = banded_factor(workload, 5)
    least = error(found, workload)
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(50):
            other = np.where(found > 0, found + size * rng.normal(size=found.shape) * found.max(), 0.0)
            other /= np.linalg.norm(other, axis=0)
            assert error(other, workload) > least - 1e-12


def test_the_derivative_is_the_difference_quotient_s() -> None:
    encoder, workload = square_root_factor(6), prefix_sums(6, 0.5)
    _, slope = _squared_error(encoder, workload)
    for i, j in ((3, 1), (5, 0), (2, 2)):
        moved = [encoder + h * np.outer(np.eye(6)[i], np.eye(6)[j]) for h in (1e-6, -1e-6)]
        quotient = (_squared_error(moved[0], workload)[0] - _squared_error(moved[1], workload)[0]) / 2e-6
        assert slope[i, j] == pytest.approx(quotient, rel=1e-5)


def test_the_square_root_squares_to_the_prefix_sums_and_has_landau_s_constants_as_errors() -> None:
    root = square_root_factor(128)
    assert np.allclose(root @ root, np.tri(128))
    assert np.square(root[:, 0]).sum() == pytest.approx(math.log(128) / math.pi + 1.0663, abs=2e-3)


REFERENCE = [
    (20, 2, 2.48702991),
    (20, 4, 2.05178835),
    (20, 8, 1.83499081),
    (20, 20, 1.75396011),
    (128, 2, 5.81652999),
    (128, 8, 3.39273042),
    (128, 128, 2.31100125),
]


@pytest.mark.parametrize(("rounds", "bands", "published"), REFERENCE)
def test_the_optimum_is_the_reference_library_s(rounds: int, bands: int, published: float) -> None:
    """Root mean squared error of `jax_privacy.matrix_factorization.banded.optimize(n, bands=b)`, jax_privacy 2.0.0."""
    workload = prefix_sums(rounds)
    found = error(banded_factor(workload, bands), workload)
    assert found <= published * (1 + 1e-6)
    assert found == pytest.approx(published, rel=1e-6)


@pytest.mark.parametrize("rounds", [5, 20, 128])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_the_grid_of_the_weights_costs_less_than_a_thousandth(rounds: int, momentum: float) -> None:
    workload = prefix_sums(rounds, momentum)
    exact = banded_factor(workload, min(rounds, 16))
    on_grid = on_weight_grid(exact, workload, separation=rounds)
    assert on_grid.mean_error == pytest.approx(error(exact, workload), rel=1e-3)


@pytest.mark.parametrize("bands", [0, 5])
def test_bands_beyond_the_matrix_are_refused(bands: int) -> None:
    with pytest.raises(ValueError, match=f"bands is {bands}"):
        banded_factor(np.tri(4), bands)
