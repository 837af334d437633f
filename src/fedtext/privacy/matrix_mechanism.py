"""The matrix mechanism: noise that is correlated across rounds by a factorisation, in exact arithmetic.

A workload W turns the T round sums X into the sums that a learner uses, W X: prefix sums, or prefix sums with momentum.
With W = B C the sums C X are released with independent noise Z of one stddev, and the learner computes

    B (C X + Z) = W X + B Z,

so that its noise is correlated across rounds although every release is independent (Denisov et al., NeurIPS 2022;
Choquette-Choo et al., ICML 2023). Tree aggregation is the case where C adds up the nodes of a binary tree (Kairouz et
al., ICML 2021); independent noise in every round is C = I.

| here | the papers | meaning |
|---|---|---|
| `workload` | A | lower triangular, T x T |
| `encoder` | C | row r is the r-th released sum's weights of the rounds; integers times `weight_step` |
| `decoder` | B | row t reads what is released by round t |
| `separation` | b | a unit takes part in rounds at least b apart |

The weights are integers, so released sums of integers are integers and discrete noise hides them exactly.

The banded factor C of least error is found by the published optimisation (Choquette-Choo et al., NeurIPS 2023). Among
lower triangular C with `bands` diagonals and columns of norm 1 the squared error of reading W = B C is |W C^-1|_F^2.
Where a unit's rounds are at least `bands` apart the columns of its rounds are orthogonal, so k rounds cost sqrt(k)
whatever C is: one optimum serves every number of participations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.system.errors import InputError

WEIGHT_STEP = 2.0**-10  # of the banded factor: costs under 0.1% of the error, as much as the rounding of contributions


@dataclass(frozen=True, eq=False)
class Factorisation:
    """W = B C with integer weights; rows are in the order in which they are released, rounds count from 1."""

    weights: Int[np.ndarray, "row round"]
    weight_step: float
    workload: Float[np.ndarray, "round round"]
    separation: int

    def __post_init__(self) -> None:
        rows, rounds = self.weights.shape
        if self.workload.shape != (rounds, rounds) or np.triu(self.workload, 1).any():
            raise InputError(
                f"workload of shape {self.workload.shape}: give a lower triangular {rounds} x {rounds}",
                code="workload-not-triangular",
                parameter="workload",
                value=self.workload.shape,
            )
        if self.weights.dtype != np.int64 or (self.weights < 0).any() or not self.weights.any(axis=1).all():
            raise InputError(
                f"weights of {rows} rows: they must be int64, at least 0, and not all 0 in a row",
                code="weights-unusable",
                parameter="weights",
            )
        if self.separation < 1:
            raise InputError(
                f"separation is {self.separation}: a unit's rounds are at least 1 apart",
                code="separation-out-of-range",
                parameter="separation",
                value=self.separation,
            )
        if (np.diff(self.due) < 0).any():
            raise InputError(
                "rows must stand in the order of their last rounds, in which they are released",
                code="rows-out-of-order",
            )

    @property
    def rounds(self) -> int:
        """T, the number of rounds."""
        return int(self.weights.shape[1])

    @property
    def participations(self) -> int:
        """The most rounds that one unit takes part in: k."""
        return -(-self.rounds // self.separation)

    @property
    def encoder(self) -> Float[np.ndarray, "row round"]:
        """C, the integer weights times `weight_step`."""
        return self.weights * self.weight_step

    @cached_property
    def start(self) -> Int[np.ndarray, " row"]:
        """The first round with a weight above 0 in each row."""
        return np.asarray(np.argmax(self.weights > 0, axis=1) + 1)

    @cached_property
    def due(self) -> Int[np.ndarray, " row"]:
        """The last round with a weight above 0 in each row, after which the row is released."""
        return np.asarray(self.rounds - np.argmax(self.weights[:, ::-1] > 0, axis=1))

    @cached_property
    def decoder(self) -> Float[np.ndarray, "round row"]:
        """B: row t is the unbiased reading of row t of W X with the least noise, from the rows released by round t.

        With a square C it is W C^-1. With all nodes of a tree it is Honaker's estimate 'from below', in closed form.

        Raises:
            ValueError: the released rows do not determine what the workload asks for.
        """
        encoder, found = self.encoder, np.zeros((self.rounds, len(self.weights)))
        for t in range(self.rounds):
            known = int(np.searchsorted(self.due, t + 1, side="right"))
            rows, wanted = encoder[:known, : t + 1].T, self.workload[t, : t + 1]
            found[t, :known] = np.linalg.lstsq(rows, wanted, rcond=None)[0]
            if not np.allclose(rows @ found[t, :known], wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max()):
                raise InputError(
                    f"round {t + 1}: the rows released so far do not determine the workload's sum",
                    code="sum-not-determined",
                    value=t + 1,
                )
        return found

    @cached_property
    def sensitivity(self) -> float:
        """Largest L2 norm that contributions of norm 1, in rounds `separation` or more apart, can give C X.

        Weights are not negative, so contributions of one direction are the worst, and the square is the largest sum of
        the Gram matrix over a legal pattern of rounds. It is bounded by maximising one index at a time: exact where
        rounds that one unit may share have no row in common, as with C banded within `separation`, where it is
        sqrt(k) times the largest column norm of equal columns; otherwise never too small.
        """
        gram, b = self.weights.T @ self.weights, self.separation
        shared = [
            int(row[s]) + _best(row[: max(s - b + 1, 0)], b) + _best(row[s + b :], b) for s, row in enumerate(gram)
        ]
        return math.nextafter(math.sqrt(_best(np.array(shared), b)), math.inf) * self.weight_step

    @property
    def errors(self) -> Float[np.ndarray, " round"]:
        """Noise stddev of each round's W X, over noise multiplier and clip norm: sensitivity x row norm of B."""
        return np.asarray(self.sensitivity * np.linalg.norm(self.decoder, axis=1))

    @property
    def mean_error(self) -> float:
        """Root mean square of `errors`."""
        return float(np.sqrt(np.mean(np.square(self.errors))))


def prefix_sums(rounds: int, momentum: float = 0.0) -> Float[np.ndarray, "round round"]:
    """Build the workload of gradient descent: row t weighs round s by 1 + momentum + ... + momentum^(t - s).

    With momentum, row t gives v_t = momentum v_(t-1) + (prefix sum t) (Kairouz et al., ICML 2021), which is heavy-ball
    descent. The noise goes through the same weights: momentum is post-processing.
    """
    weight = np.cumsum(momentum ** np.arange(rounds))
    lag = np.subtract.outer(np.arange(rounds), np.arange(rounds))
    return np.where(lag >= 0, weight[np.maximum(lag, 0)], 0.0)


def independent(workload: Float[np.ndarray, "round round"], *, separation: int) -> Factorisation:
    """Build C = I: independent noise in every round, as in DP-FedAvg."""
    return Factorisation(np.eye(len(workload), dtype=np.int64), 1.0, workload, separation)


def tree(
    workload: Float[np.ndarray, "round round"], *, separation: int, restart: int | None = None, honaker: bool = False
) -> Factorisation:
    """Build binary tree aggregation; a new tree begins every `restart` rounds.

    Each round releases the largest node that it completes: the prefix sum of a round adds up one node for each one in
    its number's binary digits, and no other node is ever used. `honaker` releases every node that is completed, and
    uses their best linear combination.
    """
    rounds = len(workload)
    rows = []
    for t in range(rounds):
        place = t % (restart or rounds) + 1
        largest = place & -place
        sizes = [size for size in (2**i for i in range(largest.bit_length())) if honaker or size == largest]
        rows += [np.isin(np.arange(rounds), np.arange(t - size + 1, t + 1)) for size in sizes]
    return Factorisation(np.array(rows, dtype=np.int64), 1.0, workload, separation)


def on_weight_grid(
    encoder: Float[np.ndarray, "round round"], workload: Float[np.ndarray, "round round"], *, separation: int
) -> Factorisation:
    """Round a real, lower triangular C to multiples of `WEIGHT_STEP`; only the rounded C is used afterwards."""
    weights = np.asarray(np.rint(encoder / WEIGHT_STEP), dtype=np.int64)
    return Factorisation(weights, WEIGHT_STEP, workload, separation)


def _best(weights: Int[np.ndarray, " round"], separation: int) -> int:
    """Compute the largest sum of weights >= 0 whose rounds are at least `separation` apart."""
    best = [0] * (len(weights) + 1)
    for s, weight in enumerate(weights):
        best[s + 1] = max(best[s], int(weight) + best[max(s + 1 - separation, 0)])
    return best[-1]


def square_root_factor(rounds: int) -> Float[np.ndarray, "round round"]:
    """Compute C = sqrt of the prefix sums: Toeplitz with the coefficients of (1 - x)^(-1/2), binom(2j, j) / 4^j.

    Where every unit takes part in one round only, its columns of norm at most |c| and its B = C give all rounds a
    maximal error of |c|^2, about ln(T) / pi + 1.07 (Fichtenberger, Henzinger and Upadhyay, ICML 2023).
    """
    j = np.arange(1, rounds)
    coefficients = np.concatenate([[1.0], np.cumprod(1 - 0.5 / j)])
    lag = np.subtract.outer(np.arange(rounds), np.arange(rounds))
    return np.where(lag >= 0, coefficients[np.maximum(lag, 0)], 0.0)


def banded_factor(workload: Float[np.ndarray, "round round"], bands: int) -> Float[np.ndarray, "round round"]:
    """Compute the banded C of least mean squared error for `workload`, with entries >= 0.

    L-BFGS-B starts at the square root factor, cut to its bands. The problem in C^T C is convex, so the start does not
    matter beyond speed.

    Raises:
        ValueError: `bands` is not between 1 and the number of rounds, or the optimisation did not converge.
    """
    from scipy.optimize import minimize

    rounds = len(workload)
    if not 1 <= bands <= rounds:
        raise InputError(
            f"bands is {bands}: give a number from 1 to the {rounds} rounds",
            code="bands-out-of-range",
            parameter="bands",
            value=bands,
        )
    free = np.tri(rounds, k=-1, dtype=bool) & ~np.tri(rounds, k=-bands, dtype=bool)
    if not free.any():
        return np.eye(rounds)

    def value_and_slope(x: Float[np.ndarray, " entry"]) -> tuple[float, Float[np.ndarray, " entry"]]:
        raw, norms = _assembled(x, free)
        error, slope = _squared_error(raw / norms, workload)
        # chain rule through the normalisation of the columns
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
        raise InputError(
            f"no banded factor for {rounds} rounds and {bands} bands: {found.message}",
            code="no-banded-factor",
            parameter="bands",
            value=bands,
        )
    raw, norms = _assembled(found.x, free)
    return np.asarray(raw / norms)


def _assembled(
    x: Float[np.ndarray, " entry"], free: Bool[np.ndarray, "round round"]
) -> tuple[Float[np.ndarray, "round round"], Float[np.ndarray, " round"]]:
    """Return the matrix with ones on its diagonal and `x` below it, and its column norms."""
    raw = np.eye(len(free))
    raw[free] = x
    return raw, np.linalg.norm(raw, axis=0)


def _squared_error(
    encoder: Float[np.ndarray, "round round"], workload: Float[np.ndarray, "round round"]
) -> tuple[float, Float[np.ndarray, "round round"]]:
    """Return |W C^-1|_F^2 and its derivative by C, -2 M^T M C^-T with M = W C^-1."""
    from scipy.linalg import solve_triangular

    inverse = solve_triangular(encoder, np.eye(len(encoder)), lower=True)
    reading = workload @ inverse
    return float(np.square(reading).sum()), -2.0 * reading.T @ reading @ inverse.T
