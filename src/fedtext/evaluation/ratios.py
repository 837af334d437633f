"""Ratios of sums, such as tokens right over tokens seen, with the error of sampling whole clients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from fedtext.system.errors import InputError


class Ratio(NamedTuple):
    """An estimate, its standard error, and the number of clusters that it is computed from."""

    estimate: float
    standard_error: float
    clusters: int

    @property
    def low(self) -> float:
        """Lower end of the 95% interval."""
        return self.estimate - self._half_width

    @property
    def high(self) -> float:
        """Upper end of the 95% interval."""
        return self.estimate + self._half_width

    @property
    def _half_width(self) -> float:
        from scipy import stats

        quantile = stats.t.ppf(0.975, self.clusters - 1) if self.clusters > 1 else np.inf
        return float(quantile * self.standard_error)


def as_share(end: float) -> float:
    """Clip a finite end of a share's interval to [0, 1]; an infinite one stays infinite."""
    return min(max(end, 0.0), 1.0) if np.isfinite(end) else end


def clustered_mean_of_ratios(
    numerators: Shaped[np.ndarray, "text part"],
    denominators: Shaped[np.ndarray, "text part"],
    clusters: Int[np.ndarray, " text"] | None = None,
    weights: Shaped[np.ndarray, "text part"] | None = None,
) -> Ratio:
    """Compute the mean over parts of `sum(numerator) / sum(denominator)`, such as F1 over classes, with its error.

    The error is linearised as for one ratio: a text changes every part's ratio by its residual over that part's total,
    and the mean of these is summed by cluster. `weights` give each part the total of its texts' weights, such as the
    number of texts of a class; these vary with the sampled texts too.

    Raises:
        ValueError: there is no part, or a denominator is zero.
    """
    totals = denominators.sum(axis=0).astype(np.float64)
    if totals.size == 0 or (totals == 0).any():
        raise InputError(
            "a mean of ratios over nothing: there is no part, or its denominators sum to 0", code="mean-over-nothing"
        )
    ratios = numerators.sum(axis=0) / totals
    moved = (numerators - ratios * denominators) / totals
    if weights is None:
        return Ratio(float(ratios.mean()), *_error(_by_cluster(moved.mean(axis=1), clusters)))
    whole = float(weights.sum())
    share = weights.sum(axis=0) / whole
    mean = float(share @ ratios)
    moved = moved @ share + (weights @ (ratios - mean)) / whole
    return Ratio(mean, *_error(_by_cluster(moved, clusters)))


def clustered_ratio(
    numerator: Shaped[np.ndarray, " text"],
    denominator: Shaped[np.ndarray, " text"],
    clusters: Int[np.ndarray, " text"] | None = None,
) -> Ratio:
    """Compute `sum(numerator) / sum(denominator)` with its linearised standard error over `clusters`.

    By default each text is a cluster. With residuals r_c = sum over c of (numerator - ratio * denominator) and C
    clusters, the error is sqrt(C / (C - 1) * sum r_c^2) / |sum(denominator)|; it is infinite for one cluster.
    """
    total = float(denominator.sum())
    if total == 0:
        raise InputError("a ratio over nothing: the denominators sum to 0", code="ratio-over-nothing")
    estimate = float(numerator.sum()) / total
    spread, count = _error(_by_cluster(numerator - estimate * denominator, clusters))
    return Ratio(estimate, spread / abs(total), count)


def _error(residuals: Float[np.ndarray, " cluster"]) -> tuple[float, int]:
    """Return the standard deviation of a sum of residuals, and the number of clusters."""
    count = len(residuals)
    return float(np.sqrt(count / (count - 1) * np.sum(residuals**2))) if count > 1 else float("inf"), count


def _by_cluster(
    values: Float[np.ndarray, " text"], clusters: Int[np.ndarray, " text"] | None
) -> Float[np.ndarray, " cluster"]:
    if clusters is None:
        return values
    _, position = np.unique(clusters, return_inverse=True)
    return np.bincount(position, weights=values)
