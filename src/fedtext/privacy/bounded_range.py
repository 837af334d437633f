"""The privacy cost of drawing tokens by the exponential mechanism: bounded range, composed over a text.

If one unit moves every score by a value in some interval of length r (in nats), a draw by the exponential mechanism has
a privacy loss in [t - r, t] for some t in [0, r]: its *range* is r (Dong, Durfee and Rogers, ICML 2020). Scores of a
token depend on the tokens before, so t may be chosen anew at every token, by what was drawn. The hockey-stick
divergence after k tokens is therefore at most

    D_k(epsilon) = max over t of  P(t) D_{k-1}(epsilon - t) + (1 - P(t)) D_{k-1}(epsilon - t + r)

with D_0(epsilon) = max(0, 1 - e^epsilon) and P(t) = (1 - e^(t - r)) / (1 - e^-r): a distribution with losses in an
interval is dominated by the one with losses at its two ends. It is the exact price of adaptive composition. Losses on a
grid of step h make the range r + h, which only overstates it. The order of neighbours does not matter, so D(-epsilon) =
1 - e^-epsilon + e^-epsilon D(epsilon).

All tokens together are then accounted as one Gaussian release, of the least shift whose divergence is nowhere below
D_T: 1 to 5% above r sqrt(T) / 2, which concentrated differential privacy gives (r^2 / 8 a token). So they compose with
all other releases in `fedtext.privacy.accounting`.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from fedtext.privacy.dominating_pairs import gaussian_delta
from fedtext.system.errors import InputError

MOST_TOKENS = 512
LARGEST_RANGE = 16.0  # nats: a clip that moves a token's odds by e^16 is none
_CELLS = 2**13  # of a range, times tokens
_NEGLIGIBLE = 1e-200  # probability of a loss that is not compared
_CLOSE = 1e-3  # relative: how near the calibrated range comes to the largest


@lru_cache(maxsize=256)
def dominating_shift(range_: float, tokens: int) -> float:
    """Return the least shift of a Gaussian release that dominates `tokens` adaptive draws of this range.

    Raises:
        ValueError: a range that is not in (0, 16], or a number of tokens that is not from 1 to 512.
    """
    if not 1 <= tokens <= MOST_TOKENS:
        raise InputError(
            f"{tokens} tokens are drawn from the same units: plan 1 to {MOST_TOKENS}",
            code="too-many-tokens-planned",
            value=tokens,
        )
    if not 0 < range_ <= 2 * LARGEST_RANGE:
        raise InputError(
            f"a token of range {range_}: it must be above 0 and at most {2 * LARGEST_RANGE:g}",
            code="range-out-of-bounds",
            value=range_,
        )
    delta, step = _divergence(range_, tokens)
    seen = delta > _NEGLIGIBLE
    # The divergence falls with epsilon: a Gaussian above it at the next grid point is above it up to there.
    wanted, epsilon = delta[seen], (np.flatnonzero(seen) + 1) * step
    low, high = 0.0, math.sqrt(tokens) * range_
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if (gaussian_delta(middle, epsilon) >= wanted * (1 + 1e-9)).all():
            high = middle
        else:
            low = middle
    return high


def _divergence(range_: float, tokens: int) -> tuple[Float[np.ndarray, " epsilon"], float]:
    """Return an upper bound of D at epsilon = 0, h, 2 h, ... after all tokens, and h."""
    cells = min(max(_CELLS // tokens, 32), 128)
    step, width = range_ / cells, cells + 1  # the range on the grid, in steps
    largest = width * step
    least = -math.expm1(-largest)
    offset = np.arange(width + 1)
    up = -np.expm1(offset * step - largest) / least
    down = (np.exp(offset * step - largest) - math.exp(-largest)) / least
    below = np.arange(-width, 0) * step
    delta = np.zeros(tokens * width + 1)
    for token in range(1, tokens + 1):
        reached = token * width + 1  # no loss is larger
        negative = np.exp(below) * delta[width:0:-1] - np.expm1(below)
        before = np.concatenate([negative, delta, np.zeros(width)])
        found = np.zeros(reached)
        for t in offset.tolist():
            after_up, after_down = before[width - t :][:reached], before[2 * width - t :][:reached]
            np.maximum(found, up[t] * after_up + down[t] * after_down, out=found)
        delta[:reached] = found
    return delta, step


def unit_shift(range_: float, tokens: int) -> float:
    """Return the shift with which a unit's tokens enter the ledger, where adding its text moves scores by `range_`.

    Replacing it moves them by twice the range, which the ledger accounts for as twice the shift.
    """
    return max(dominating_shift(range_, tokens), dominating_shift(2 * range_, tokens) / 2)


@lru_cache(maxsize=64)
def largest_range(shift: float, tokens: int) -> float:
    """Return the largest range whose tokens cost at most a Gaussian release of this shift, within 0.1% below it."""
    found = min(2 * shift / math.sqrt(tokens), LARGEST_RANGE)
    while (cost := unit_shift(found, tokens)) > shift or (cost < shift * (1 - _CLOSE) and found < LARGEST_RANGE):
        found = min(found * shift / cost * (1 - _CLOSE / 2), LARGEST_RANGE)
    return found
