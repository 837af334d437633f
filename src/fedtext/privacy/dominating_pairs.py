"""Dominating pairs of Gaussian releases, sampled or not, and the cost of one without sampling in closed form.

A sampled Gaussian release is accounted by its dominating pair. With mu = (largest norm of a unit's contribution) /
(noise stddev), q the sampling rate, M(a) = (1 - q) N(0, 1) + q N(a, 1) and alpha = e^epsilon >= 1, no neighbours have a
larger hockey-stick divergence than these (docs/privacy/proof.md has the proof; alpha < 1 follows by exchanging the two
distributions):

    sampling, adjacency             with the unit against without      without against with
    full                            N(mu, 1) against N(0, 1)           the same; 2 mu under replace_one
    poisson, zero_out, add_remove   M(mu) against N(0, 1)              N(0, 1) against M(mu)
    poisson, replace_one            M(mu) against M(-mu)               the same
    fixed_size, zero_out            M(2 mu) against M(mu)              M(mu) against N(0, 1)
    fixed_size, replace_one         M(2 mu) against N(0, 1)            the same

Two contributions without a negative coordinate are at most sqrt(2) mu apart and never at more than a right angle, which
matters under replace_one alone. With M'(x) = (1 - q) N(0, I) + q N(x, I) in the plane, and e, e' its two unit vectors:

    poisson, replace_one            M'(mu e) against M'(mu e')         the same
    fixed_size, replace_one         M(sqrt(2) mu) against N(0, 1)      the same

A fixed-size sample is not a Poisson sample: a unit that is not sampled makes room for another, whose contribution may
point the other way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fedtext.params.privacy import Adjacency, Sampling
from fedtext.system.errors import InputError


def gaussian_delta(shift: float, epsilon: Float[np.ndarray, " epsilon"]) -> Float[np.ndarray, " epsilon"]:
    """Compute the smallest delta at each epsilon >= 0, without cancellation (Balle and Wang, ICML 2018, Theorem 8)."""
    from scipy.special import log_ndtr

    upper = log_ndtr(shift / 2 - epsilon / shift)
    lower = epsilon + log_ndtr(-shift / 2 - epsilon / shift)
    return np.asarray(np.exp(upper) * -np.expm1(np.minimum(lower - upper, 0.0)))


def gaussian_epsilon(shift: float, delta: float) -> float:
    """Compute the smallest epsilon at `delta` of a Gaussian release of this shift."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    if _delta(shift, 0.0) <= delta:
        return 0.0
    # delta <= Phi(shift / 2 - epsilon / shift), which equals delta here:
    sufficient = shift * (shift / 2 - min(float(ndtri(delta)), 0.0)) + 1e-12
    return float(brentq(lambda epsilon: _delta(shift, epsilon) - delta, 0.0, sufficient, xtol=1e-13, rtol=1e-14))


def gaussian_shift(epsilon: float, delta: float) -> float:
    """Compute the largest shift that is (epsilon, delta) private: the inverse of `gaussian_epsilon`."""
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


Profile = Callable[[Float[np.ndarray, " epsilon"]], Float[np.ndarray, " epsilon"]]
_REACH = 10.0  # standard deviations; the mass beyond, 1e-23, counts as an infinite loss


@dataclass(frozen=True)
class HalfProfile:
    """The hockey-stick divergence of one ordered pair at epsilon >= 0; negligible beyond `top`."""

    delta: Profile
    top: float


def worst_pair(
    sampling: Sampling, adjacency: Adjacency, rate: float, shift: float, *, non_negative: bool = False
) -> tuple[HalfProfile, HalfProfile]:
    """Build the dominating pair of one release sampled at `rate` < 1.

    Args:
        sampling: How units are sampled.
        adjacency: How neighbouring data sets differ.
        rate: The sampling rate q.
        shift: Largest norm of a contribution over the noise stddev, mu.
        non_negative: No contribution has a coordinate below 0.

    Returns:
        The profiles 'with against without' and 'without against with' the unit.

    Raises:
        ValueError: `fixed_size` under `add_remove`.
    """
    validate_accountable(sampling, adjacency)
    if sampling == "poisson" and adjacency == "replace_one":
        return (_right_angle(rate, shift) if non_negative else _mixtures(rate, shift, -shift),) * 2
    if sampling == "poisson":
        return _mixtures(rate, shift, 0.0), _vanishing(rate, shift)
    if adjacency == "replace_one":
        return (_mixtures(rate, (math.sqrt(2) if non_negative else 2.0) * shift, 0.0),) * 2
    return _mixtures(rate, 2 * shift, shift), _mixtures(rate, shift, 0.0)


def gaussian_pair(shift: float) -> tuple[HalfProfile, HalfProfile]:
    """Build the profiles of one Gaussian release without sampling, in both directions."""
    return (HalfProfile(lambda epsilon: gaussian_delta(shift, epsilon), shift * (shift / 2 + _REACH)),) * 2


def validate_accountable(sampling: Sampling, adjacency: Adjacency) -> None:
    """Raise ValueError for fixed-size sampling under add_remove."""
    if sampling == "fixed_size" and adjacency == "add_remove":
        raise InputError(
            "sampling is 'fixed_size' and adjacency 'add_remove': a draw of fixed size needs a public number of units, "
            "which add_remove keeps private; declare zero_out or replace_one, or sample by poisson",
            code="fixed-size-needs-public-population",
            parameter="adjacency",
            value="add_remove",
        )


def _mixtures(q: float, p: float, s: float) -> HalfProfile:
    """Build the profile of (1 - q) N(0) + q N(p) against (1 - q) N(0) + q N(s), for s in {0, -p, p / 2}.

    The event of largest divergence is {x > cut}.
    """
    from scipy.special import log_ndtr

    log_q, log_rest = math.log(q), math.log1p(-q)

    def delta(epsilon: Float[np.ndarray, " epsilon"]) -> Float[np.ndarray, " epsilon"]:
        with np.errstate(divide="ignore"):
            log_gap = np.log(-np.expm1(-epsilon)) + epsilon + log_rest  # of (alpha - 1)(1 - q)
        own, other = log_q - p * p / 2, epsilon + log_q - s * s / 2
        if s == 0:
            cut = (np.logaddexp(other, log_gap) - own) / p
        elif s < 0:
            cut = _log_root(own, log_gap, other) / p
        else:
            cut = _log_root(own, other, log_gap) / s
        kept = np.exp(epsilon + log_q + log_ndtr(s - cut)) + np.exp(log_gap + log_ndtr(-cut))
        return np.asarray(np.exp(log_q + log_ndtr(p - cut)) - kept)

    x = p + _REACH
    ratio = np.logaddexp(log_rest, log_q + p * x - p * p / 2) - np.logaddexp(log_rest, log_q + s * x - s * s / 2)
    return HalfProfile(delta, float(ratio))


def _right_angle(q: float, mu: float) -> HalfProfile:
    """Build the profile of M'(mu e) against M'(mu e').

    It is E[(f(A) - alpha f(B))+], A and B independent N(0, 1), f(t) = M(mu)(t) / N(0, 1)(t). The expectation over A is
    exact. The integral over B is a trapezoid sum, whose error falls exponentially: the integrand's singularities are pi
    / mu off the real line, eight steps and more.
    """
    from scipy.special import log_ndtr

    log_q, log_rest = math.log(q), math.log1p(-q)
    step = 0.4 / max(mu, 1.0)
    points = np.arange(-math.ceil(_REACH / step), math.ceil(_REACH / step) + 1) * step
    weights = step * np.exp(-(points**2) / 2) / math.sqrt(2 * math.pi)

    def delta(epsilon: Float[np.ndarray, " epsilon"]) -> Float[np.ndarray, " epsilon"]:
        with np.errstate(divide="ignore"):
            log_gap = np.log(-np.expm1(-epsilon)) + epsilon + log_rest  # of (alpha - 1)(1 - q)
        found = np.zeros_like(epsilon)
        for b, weight in zip(points, weights, strict=True):
            other = np.logaddexp(log_gap, epsilon + log_q + mu * b - mu * mu / 2)  # of alpha f(b) - (1 - q)
            cut = (other - log_q) / mu + mu / 2
            found += weight * (np.exp(log_q + log_ndtr(mu - cut)) - np.exp(other + log_ndtr(-cut)))
        return found

    return HalfProfile(delta, float(np.logaddexp(log_rest, log_q + mu * _REACH + mu * mu / 2) - log_rest))


def _log_root(
    a: float, b: Float[np.ndarray, " epsilon"], c: Float[np.ndarray, " epsilon"]
) -> Float[np.ndarray, " epsilon"]:
    """Compute the logarithm of the positive root y of e^a y^2 = e^b y + e^c."""
    return np.asarray(np.logaddexp(b, np.logaddexp(2 * b, math.log(4) + a + c) / 2) - math.log(2) - a)


def _vanishing(q: float, mu: float) -> HalfProfile:
    """Build the profile of N(0) against (1 - q) N(0) + q N(mu).

    The event of largest divergence is {x < cut}; no loss exceeds -log(1 - q).
    """
    from scipy.special import ndtr

    log_q, log_rest = math.log(q), math.log1p(-q)

    def delta(epsilon: Float[np.ndarray, " epsilon"]) -> Float[np.ndarray, " epsilon"]:
        possible = np.minimum(epsilon, -log_rest)
        with np.errstate(divide="ignore"):
            cut = (np.log(np.maximum(q + np.expm1(-possible), 0.0)) - log_q + mu * mu / 2) / mu
        found = -np.expm1(possible + log_rest) * ndtr(cut) - np.exp(possible + log_q) * ndtr(cut - mu)
        return np.where(epsilon < -log_rest, np.maximum(found, 0.0), 0.0)

    return HalfProfile(delta, float(-np.logaddexp(log_rest, log_q - mu * _REACH - mu * mu / 2)))
