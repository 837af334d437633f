"""Lloyd's step from noised counts and sums (Su et al., CODASPY 2016): arithmetic of released values alone.

How many steps there are is fixed beforehand, and no step asks whether it converged: that would be one more release.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from fedtext.privacy.clipping import clip_rows

SEEN = 2.0  # deviations of its noise: a count below says nothing, and its centre stays


def moved_centres(
    centres: Float[np.ndarray, "cluster dim"],
    counts: Float[np.ndarray, " cluster"],
    sums: Float[np.ndarray, "cluster dim"],
    *,
    stddev: float,
    radius: float,
) -> Float[np.ndarray, "cluster dim"]:
    """Means of the clusters, no longer than `radius`, which bounds every point; noise alone moves no centre.

    Args:
        centres: Before the step.
        counts: Noised numbers of points.
        sums: Noised sums of points.
        stddev: Deviation of a count's noise.
        radius: Largest norm of a point.
    """
    seen = counts >= max(SEEN * stddev, np.finfo(np.float64).tiny)
    means = np.divide(sums, counts[:, None], out=np.array(centres, dtype=np.float64), where=seen[:, None])
    return np.asarray(np.where(seen[:, None], clip_rows(means, radius), centres))


def mixture(
    counts: Float[np.ndarray, " cluster"], kept: Bool[np.ndarray, " cluster"] | None = None
) -> Float[np.ndarray, " cluster"]:
    """Shares of the clusters by their noised counts; negative ones are 0, and where none is left all are equal.

    `kept` are those that have a share at all; None, or nobody: all.
    """
    allowed = np.ones(len(counts), dtype=bool) if kept is None or not kept.any() else kept
    weights = np.where(allowed, np.maximum(counts, 0.0), 0.0)
    if not weights.sum() > 0:
        weights = allowed.astype(np.float64)
    return np.asarray(weights / weights.sum())
