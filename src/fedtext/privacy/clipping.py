"""Clipping: every contribution is scaled to an L2 norm of at most `clip_norm` before any other computation."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fedtext.system.errors import InputError

# Squares are summed 2^22 at a time, so that norms in double precision have a relative error below 2^-30 at any width.
# Rows are clipped to `_SLACK` times the limit, so that the limit holds in spite of that error.
_PART = 2**22
_SLACK = 1.0 - 2.0**-30


def clip_factors(norms: Float[np.ndarray, "*row"], clip_norm: float) -> Float[np.ndarray, "*row"]:
    """Return the factors that clip rows of these L2 norms: min(1, clip_norm / norm); 1 for a zero row.

    Raises:
        ValueError: `clip_norm` is not positive and finite, or a norm is NaN or infinite.
    """
    if not (clip_norm > 0 and np.isfinite(clip_norm)):
        raise InputError(
            f"clip_norm {clip_norm}: it must be positive and finite",
            code="clip-norm-out-of-range",
            parameter="clip_norm",
            value=clip_norm,
        )
    wide = np.asarray(norms, dtype=np.float64)
    if not np.isfinite(wide).all():
        raise InputError(
            "a contribution holds NaN, an infinity or values too large to square: clean it before it is summed",
            code="contribution-not-finite",
        )
    limit = clip_norm * _SLACK
    return np.asarray(limit / np.maximum(wide, limit))


def clip_rows(x: Float[np.ndarray, "row dim"], clip_norm: float) -> Float[np.ndarray, "row dim"]:
    """Clip rows to an L2 norm of at most `clip_norm`, in double precision; shorter rows stay as they are.

    A row that holds NaN, an infinity or values too large to square becomes zeros: whether a release happens must not
    depend on one client.

    Raises:
        ValueError: `clip_norm` is not positive and finite.
    """
    wide = np.array(x, dtype=np.float64, order="C")  # row by row: a norm's bits do not depend on other rows
    norms = _norms(wide)
    broken = ~np.isfinite(norms)
    wide[broken], norms[broken] = 0.0, 0.0
    wide *= clip_factors(norms, clip_norm)[:, None]
    return wide


def clip_factor(row: Float[np.ndarray, " dim"], clip_norm: float) -> float:
    """Return the number that `clip_rows` multiplies a row by, without a copy of it in double precision.

    It is 0 for a row that counts as zeros because it holds NaN, an infinity or values too large to square.

    Raises:
        ValueError: `clip_norm` is not positive and finite.
    """
    norms = _norms(row[None])
    return float(clip_factors(norms, clip_norm)[0]) if np.isfinite(norms).all() else 0.0


def _norms(rows: Float[np.ndarray, "row dim"]) -> Float[np.ndarray, " row"]:
    """Compute L2 norms in double precision; one that is NaN or infinite is of a row that cannot be squared."""
    with np.errstate(over="ignore", invalid="ignore"):
        parts = (rows[:, first : first + _PART] for first in range(0, max(rows.shape[1], 1), _PART))
        wide = (part.astype(np.float64, copy=False) for part in parts)
        return np.asarray(np.sqrt(sum(np.einsum("ij,ij->i", part, part) for part in wide)))


def positive_parts(x: Float[np.ndarray, "row dim"]) -> Float[np.ndarray, "row dim"]:
    """Set every coordinate below 0 to 0, -inf included; `clip_rows` makes a row with NaN zeros."""
    return np.asarray(np.maximum(x, 0.0))
