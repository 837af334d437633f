"""Quantisation: contributions become integers on a grid, so that their sum is exact and the noise can be discrete.

A client rounds each coordinate up or down at random so that its expectation is kept. Whatever the outcome, a coordinate
moves by at most one step, so a contribution of norm `clip_norm` has norm at most `clip_norm + step * sqrt(dim)`
afterwards: that, not `clip_norm`, is the sensitivity that the noise is scaled to. Steps are powers of two, so that
dividing by one and multiplying by it again is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int64

from fedtext.system.errors import InputError

INFLATION = 2.0**-10
RANGE = 2.0**-256, 2.0**256  # of clip norms: beyond, squares and scaled values leave double precision
_ROUNDING_BITS = 32
_STRETCH = 2**15  # coordinates, of whole draws: what is computed of them stays in a core's cache


def grid_step(clip_norm: float, dim: int, inflation: float = INFLATION) -> float:
    """Return the largest power of two that inflates the sensitivity by at most `inflation` (default under 0.1%).

    Raises:
        ValueError: `clip_norm` is not within `RANGE`, `inflation` is not positive and finite, or `dim` is below 1.
    """
    if dim < 1:
        raise InputError(
            f"dim {dim}: a contribution needs at least one coordinate",
            code="no-coordinates",
            parameter="dim",
            value=dim,
        )
    largest = inflation * clip_norm / math.sqrt(dim)
    if not (RANGE[0] <= clip_norm <= RANGE[1] and largest > 0 and math.isfinite(largest)):
        raise InputError(
            f"clip_norm {clip_norm}, inflation {inflation}: the first must be from {RANGE[0]:.3g} to {RANGE[1]:.3g}, "
            "the second positive and finite",
            code="clip-norm-or-inflation-out-of-range",
            parameter="clip_norm",
            value=clip_norm,
        )
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def adjusted_sensitivity(clip_norm: float, step: float, dim: int) -> float:
    """Compute the largest L2 norm of a contribution clipped to `clip_norm` after rounding to the grid of `step`."""
    return math.nextafter(clip_norm + step * math.sqrt(dim), math.inf)


def randomly_rounded(
    x: Float[np.ndarray, "client dim"], step: float, rng: np.random.Generator
) -> Int64[np.ndarray, "client dim"]:
    """Round x / step up or down at random, with expectation x / step; a zero stays a zero.

    The randomness carries no privacy claim (the sensitivity holds for every outcome), so any generator will do. Each
    rounding uses 32 random bits, so the expectation is kept to 2^-32 of a step; every row takes whole draws of 64 bits,
    so the division of clients into blocks does not change the result. |x| / step has to stay below 2^31.
    """
    rows, dim = x.shape
    draws = rng.integers(0, 2**64, size=(rows, -(-dim * _ROUNDING_BITS // 64)), dtype=np.uint64)
    rounded = np.empty(x.shape, dtype=np.int64)
    np.multiply(x, 2.0**_ROUNDING_BITS / step, out=rounded, casting="unsafe")  # truncated towards zero: no value grows
    rounded += draws.view(np.uint32)[:, :dim]
    rounded >>= _ROUNDING_BITS
    return rounded


def rounded_stretches(
    row: Float[np.ndarray, " dim"], factor: float, step: float, rng: np.random.Generator
) -> Iterator[tuple[slice, Int64[np.ndarray, " stretch"]]]:
    """Yield `randomly_rounded` of `factor` times a row, a stretch at a time: the places, and their integers.

    The integers are those of the whole row, to the last: `step` must be a power of two, as `grid_step` makes it, so
    that scaling by it rounds nothing. A stretch is valid until the next one, which overwrites it.
    """
    scale = factor * (2.0**_ROUNDING_BITS / step)
    rounded = np.empty(_STRETCH, dtype=np.int64)
    for first in range(0, row.size, _STRETCH):
        places = slice(first, min(first + _STRETCH, row.size))
        size = places.stop - first
        draws = rng.integers(0, 2**64, size=-(-size * _ROUNDING_BITS // 64), dtype=np.uint64)
        some = rounded[:size]
        np.multiply(row[places], scale, out=some, casting="unsafe", dtype=np.float64)  # truncated towards zero
        some += draws.view(np.uint32)[:size]
        some >>= _ROUNDING_BITS
        yield places, some
