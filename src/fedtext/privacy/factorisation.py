"""Noise that is correlated across rounds, as a factorisation of what learning reads: exact arithmetic and its errors.

A workload W turns the T round sums X into what a learner uses, W X: prefix sums, or prefix sums with momentum. With
W = B C the sums C X are released with independent noise Z of one deviation, and the learner reads

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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

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
            raise InputError(f"workload of shape {self.workload.shape}: give a lower triangular {rounds} x {rounds}")
        if self.weights.dtype != np.int64 or (self.weights < 0).any() or not self.weights.any(axis=1).all():
            raise InputError(f"weights of {rows} rows: they must be int64, at least 0, and not all 0 in a row")
        if self.separation < 1:
            raise InputError(f"separation is {self.separation}: a unit's rounds are at least 1 apart")
        if (np.diff(self.due) < 0).any():
            raise InputError("rows must stand in the order of their last rounds, in which they are released")

    @property
    def rounds(self) -> int:
        """T."""
        return int(self.weights.shape[1])

    @property
    def participations(self) -> int:
        """The most rounds that one unit takes part in: k."""
        return -(-self.rounds // self.separation)

    @property
    def encoder(self) -> Float[np.ndarray, "row round"]:
        """C."""
        return self.weights * self.weight_step

    @cached_property
    def start(self) -> Int[np.ndarray, " row"]:
        """The first round that each row counts."""
        return np.asarray(np.argmax(self.weights > 0, axis=1) + 1)

    @cached_property
    def due(self) -> Int[np.ndarray, " row"]:
        """The last round that each row counts, after which it is released."""
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
                raise InputError(f"round {t + 1}: the rows released so far do not determine the workload's sum")
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
        """Noise deviation of each round's W X, over noise multiplier and clip norm: sensitivity x row norm of B."""
        return np.asarray(self.sensitivity * np.linalg.norm(self.decoder, axis=1))

    @property
    def mean_error(self) -> float:
        """Root mean square of `errors`."""
        return float(np.sqrt(np.mean(np.square(self.errors))))


def prefix_sums(rounds: int, momentum: float = 0.0) -> Float[np.ndarray, "round round"]:
    """The workload of descent: row t weighs round s by 1 + momentum + ... + momentum^(t - s).

    With momentum it is what v_t = momentum v_(t-1) + (prefix sum t) adds up to (Kairouz et al., ICML 2021), which is
    heavy-ball descent. The noise goes through the same weights: momentum is post-processing.
    """
    weight = np.cumsum(momentum ** np.arange(rounds))
    lag = np.subtract.outer(np.arange(rounds), np.arange(rounds))
    return np.where(lag >= 0, weight[np.maximum(lag, 0)], 0.0)


def independent(workload: Float[np.ndarray, "round round"], *, separation: int) -> Factorisation:
    """C = I: independent noise in every round, as DP-FedAvg has it."""
    return Factorisation(np.eye(len(workload), dtype=np.int64), 1.0, workload, separation)


def tree(
    workload: Float[np.ndarray, "round round"], *, separation: int, restart: int | None = None, honaker: bool = False
) -> Factorisation:
    """Binary tree aggregation; a new tree begins every `restart` rounds.

    Each round releases the largest node that it completes: the prefix sum of a round adds up one node for each one in
    its number's binary digits, and no other node is ever read. `honaker` releases every node that is completed, and
    reads the best combination of them.
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
    """A real, lower triangular C rounded to `WEIGHT_STEP`. What is priced and read is the rounded one, exactly."""
    weights = np.asarray(np.rint(encoder / WEIGHT_STEP), dtype=np.int64)
    return Factorisation(weights, WEIGHT_STEP, workload, separation)


def _best(weights: Int[np.ndarray, " round"], separation: int) -> int:
    """Largest sum of weights >= 0 whose rounds are at least `separation` apart."""
    best = [0] * (len(weights) + 1)
    for s, weight in enumerate(weights):
        best[s + 1] = max(best[s], int(weight) + best[max(s + 1 - separation, 0)])
    return best[-1]
