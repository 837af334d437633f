"""Lloyd's step from noisy counts and sums (Su et al., CODASPY 2016): post-processing of released values.

The number of steps is fixed beforehand: a test of convergence would be one more release.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from fedtext.privacy.clipping import clip_rows

SEEN = 2.0  # noise stddevs: a count below is not distinguishable from noise, and its centre stays


def moved_centres(
    centres: Float[np.ndarray, "cluster dim"],
    counts: Float[np.ndarray, " cluster"],
    sums: Float[np.ndarray, "cluster dim"],
    *,
    stddev: float,
    radius: float,
) -> Float[np.ndarray, "cluster dim"]:
    """Compute the clusters' means, clipped to norm `radius`; a centre stays where the count does not exceed noise.

    Args:
        centres: Before the step.
        counts: Noisy numbers of points.
        sums: Noisy sums of points.
        stddev: Standard deviation of a count's noise.
        radius: Largest norm of a point.
    """
    seen = counts >= max(SEEN * stddev, np.finfo(np.float64).tiny)
    means = np.divide(sums, counts[:, None], out=np.array(centres, dtype=np.float64), where=seen[:, None])
    return np.asarray(np.where(seen[:, None], clip_rows(means, radius), centres))


def mixture(
    counts: Float[np.ndarray, " cluster"], kept: Bool[np.ndarray, " cluster"] | None = None
) -> Float[np.ndarray, " cluster"]:
    """Compute the clusters' shares from noisy counts; a negative count is 0, and all shares are equal if none is left.

    `kept` marks the clusters that have a share at all; None, or none marked: all.
    """
    allowed = np.ones(len(counts), dtype=bool) if kept is None or not kept.any() else kept
    weights = np.where(allowed, np.maximum(counts, 0.0), 0.0)
    if not weights.sum() > 0:
        weights = allowed.astype(np.float64)
    return np.asarray(weights / weights.sum())
