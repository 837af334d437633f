"""Apportionment of a number of texts in whole parts (largest remainder method), and shares from noisy counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from fedtext.system.errors import InputError


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """Divide `total` in proportion to the weights, by largest remainder; of equal remainders the first gets one more.

    The parts sum to `total`, whatever the weights sum to.

    Raises:
        ValueError: `total` or a weight is below 0 or not finite, or all weights are 0.
    """
    shares = np.asarray(weights, dtype=np.float64)
    if total < 0 or shares.size == 0 or not np.isfinite(shares).all() or shares.min() < 0 or shares.max() == 0:
        raise InputError(
            f"{total} texts cannot be divided by the weights {list(weights)}: all at least 0, one above",
            code="unusable-weights",
            parameter="weights",
        )
    exact = total * (shares / shares.max()) / (shares / shares.max()).sum()
    parts = np.floor(exact).astype(np.int64)
    missing = total - int(parts.sum())
    order = np.argsort(-(exact - parts), kind="stable")
    parts[order[:missing]] += 1
    return [int(part) for part in parts]


def split_evenly(total: int, parts: int) -> list[int]:
    """Divide `total` into `parts` that differ by one at most, the larger ones first."""
    return apportion(total, [1.0] * parts)


def proportions(counts: Float[np.ndarray, " kind"]) -> Float[np.ndarray, " kind"]:
    """Project the shares of noisy counts on the simplex; equal shares where all is noise."""
    total = counts.sum()
    if not np.isfinite(counts).all() or total <= 0:
        return np.full(len(counts), 1 / len(counts))
    shares = counts / total
    falling = np.sort(shares)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    threshold = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(shares - threshold, 0.0))
