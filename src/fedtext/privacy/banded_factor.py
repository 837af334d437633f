"""The banded factor C of least error, by the published optimisation (Choquette-Choo et al., NeurIPS 2023).

Among lower triangular C with `bands` diagonals and columns of norm 1 the squared error of reading W = B C is
|W C^-1|_F^2. Where a unit's rounds are at least `bands` apart the columns of its rounds are orthogonal, so k rounds
cost sqrt(k) whatever C is: one optimum serves every number of participations.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from fedtext.system.errors import InputError


def square_root_factor(rounds: int) -> Float[np.ndarray, "round round"]:
    """C = sqrt of the prefix sums: Toeplitz with the coefficients of (1 - x)^(-1/2), binom(2j, j) / 4^j.

    Where every round is another unit's, its columns of norm at most |c| and its B = C give all rounds a maximal error
    of |c|^2, about ln(T) / pi + 1.07 (Fichtenberger, Henzinger and Upadhyay, ICML 2023).
    """
    j = np.arange(1, rounds)
    coefficients = np.concatenate([[1.0], np.cumprod(1 - 0.5 / j)])
    lag = np.subtract.outer(np.arange(rounds), np.arange(rounds))
    return np.where(lag >= 0, coefficients[np.maximum(lag, 0)], 0.0)


def banded_factor(workload: Float[np.ndarray, "round round"], bands: int) -> Float[np.ndarray, "round round"]:
    """C of least mean squared error for `workload`, with entries >= 0; L-BFGS-B from the cut square root.

    The problem in C^T C is convex, so the start does not matter beyond speed.

    Raises:
        ValueError: `bands` is not between 1 and the number of rounds, or the optimisation did not converge.
    """
    from scipy.optimize import minimize

    rounds = len(workload)
    if not 1 <= bands <= rounds:
        raise InputError(f"bands is {bands}: give a number from 1 to the {rounds} rounds")
    free = np.tri(rounds, k=-1, dtype=bool) & ~np.tri(rounds, k=-bands, dtype=bool)
    if not free.any():
        return np.eye(rounds)

    def value_and_slope(x: Float[np.ndarray, " entry"]) -> tuple[float, Float[np.ndarray, " entry"]]:
        raw, norms = _assembled(x, free)
        error, slope = _squared_error(raw / norms, workload)
        # through the normalisation of the columns
        slope = (slope - raw / norms * (slope * raw / norms).sum(axis=0)) / norms
        return error / rounds, slope[free] / rounds

    found = minimize(
        value_and_slope,
        square_root_factor(rounds)[free],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * int(free.sum()),
        options={"maxiter": 2000, "maxfun": 4000, "ftol": 1e-13, "gtol": 1e-9},
    )
    if not found.success:
        raise InputError(f"no banded factor for {rounds} rounds and {bands} bands: {found.message}")
    raw, norms = _assembled(found.x, free)
    return np.asarray(raw / norms)


def _assembled(
    x: Float[np.ndarray, " entry"], free: Bool[np.ndarray, "round round"]
) -> tuple[Float[np.ndarray, "round round"], Float[np.ndarray, " round"]]:
    """The matrix with ones on its diagonal and `x` below it, and its column norms."""
    raw = np.eye(len(free))
    raw[free] = x
    return raw, np.linalg.norm(raw, axis=0)


def _squared_error(
    encoder: Float[np.ndarray, "round round"], workload: Float[np.ndarray, "round round"]
) -> tuple[float, Float[np.ndarray, "round round"]]:
    """|W C^-1|_F^2 and its derivative by C, -2 M^T M C^-T with M = W C^-1."""
    from scipy.linalg import solve_triangular

    inverse = solve_triangular(encoder, np.eye(len(encoder)), lower=True)
    reading = workload @ inverse
    return float(np.square(reading).sum()), -2.0 * reading.T @ reading @ inverse.T
