"""The Gaussian mechanism priced exactly: the analytic formula, for any epsilon.

A release that adds noise of standard deviation s to a value of L2 sensitivity D is the pair N(0, 1), N(mu, 1) with
shift mu = D / s, whatever the dimension, and releases of shifts mu_1 ... mu_T together are one release of shift
sqrt(mu_1^2 + ... + mu_T^2). The classical s = D sqrt(2 ln(1.25 / delta)) / epsilon is not used anywhere: it is loose,
and wrong for epsilon > 1.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def gaussian_delta(shift: float, epsilon: Float[np.ndarray, " epsilon"]) -> Float[np.ndarray, " epsilon"]:
    """Smallest delta at each epsilon >= 0 (Balle and Wang, ICML 2018, Theorem 8), without cancellation."""
    from scipy.special import log_ndtr

    upper = log_ndtr(shift / 2 - epsilon / shift)
    lower = epsilon + log_ndtr(-shift / 2 - epsilon / shift)
    return np.asarray(np.exp(upper) * -np.expm1(np.minimum(lower - upper, 0.0)))


def gaussian_epsilon(shift: float, delta: float) -> float:
    """Smallest epsilon at `delta` of a Gaussian release of this shift."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    if _delta(shift, 0.0) <= delta:
        return 0.0
    # delta <= Phi(shift / 2 - epsilon / shift), which equals delta here:
    sufficient = shift * (shift / 2 - min(float(ndtri(delta)), 0.0)) + 1e-12
    return float(brentq(lambda epsilon: _delta(shift, epsilon) - delta, 0.0, sufficient, xtol=1e-13, rtol=1e-14))


def gaussian_shift(epsilon: float, delta: float) -> float:
    """Largest shift that is (epsilon, delta) private: the inverse of `gaussian_epsilon`."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    quantile = -float(ndtri(delta))
    private = 2 * epsilon / (quantile + np.hypot(quantile, np.sqrt(2 * epsilon)))
    too_much = 2 * private
    while _delta(too_much, epsilon) <= delta:
        too_much *= 2
    return float(brentq(lambda shift: _delta(shift, epsilon) - delta, private / 2, too_much, xtol=1e-15, rtol=1e-14))


def _delta(shift: float, epsilon: float) -> float:
    return float(gaussian_delta(shift, np.array([epsilon], dtype=np.float64))[0])
