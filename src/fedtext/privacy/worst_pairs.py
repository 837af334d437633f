"""Sampled Gaussian releases: the pair of distributions that is hardest to keep apart from its neighbour's.

With mu = (largest norm of a unit's contribution) / (noise deviation), q the sampling rate, M(a) = (1 - q) N(0, 1) +
q N(a, 1) and alpha = e^epsilon >= 1, no neighbours have a larger hockey-stick divergence than these (docs/privacy.md
has the proof; alpha < 1 follows by exchanging the two distributions):

    sampling, adjacency             with the unit against without      without against with
    full                            N(mu, 1) against N(0, 1)           the same; 2 mu under replace_one
    poisson, zero_out, add_remove   M(mu) against N(0, 1)              N(0, 1) against M(mu)
    poisson, replace_one            M(mu) against M(-mu)               the same
    fixed_size, zero_out            M(2 mu) against M(mu)              M(mu) against N(0, 1)
    fixed_size, replace_one         M(2 mu) against N(0, 1)            the same

Two contributions without a negative coordinate are at most sqrt(2) mu apart and never at more than a right angle, which
tells under replace_one alone. With M'(x) = (1 - q) N(0, I) + q N(x, I) in the plane, and e, e' its two unit vectors:

    poisson, replace_one            M'(mu e) against M'(mu e')         the same
    fixed_size, replace_one         M(sqrt(2) mu) against N(0, 1)      the same

A fixed-size draw is not a Poisson draw: a unit that is not drawn makes room for another, whose contribution may point
the other way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fedtext.params.privacy import Adjacency, Sampling
from fedtext.privacy.gaussian import gaussian_delta
from fedtext.system.errors import InputError

Profile = Callable[[Float[np.ndarray, " epsilon"]], Float[np.ndarray, " epsilon"]]
_REACH = 10.0  # standard deviations; the mass beyond, 1e-23, counts as an infinite loss


@dataclass(frozen=True)
class HalfProfile:
    """Hockey-stick divergence of one ordered pair at epsilon >= 0; negligible beyond `top`."""

    delta: Profile
    top: float


def worst_pair(
    sampling: Sampling, adjacency: Adjacency, rate: float, shift: float, *, non_negative: bool = False
) -> tuple[HalfProfile, HalfProfile]:
    """The profiles 'with against without' and 'without against with' of one release sampled at `rate` < 1.

    `non_negative`: no contribution has a coordinate below 0.

    Raises:
        ValueError: `fixed_size` under `add_remove`.
    """
    refuse_unpriceable(sampling, adjacency)
    if sampling == "poisson" and adjacency == "replace_one":
        return (_right_angle(rate, shift) if non_negative else _mixtures(rate, shift, -shift),) * 2
    if sampling == "poisson":
        return _mixtures(rate, shift, 0.0), _vanishing(rate, shift)
    if adjacency == "replace_one":
        return (_mixtures(rate, (math.sqrt(2) if non_negative else 2.0) * shift, 0.0),) * 2
    return _mixtures(rate, 2 * shift, shift), _mixtures(rate, shift, 0.0)


def gaussian_pair(shift: float) -> tuple[HalfProfile, HalfProfile]:
    """The profiles of one Gaussian release without sampling."""
    return (HalfProfile(lambda epsilon: gaussian_delta(shift, epsilon), shift * (shift / 2 + _REACH)),) * 2


def refuse_unpriceable(sampling: Sampling, adjacency: Adjacency) -> None:
    """Raise ValueError for fixed-size sampling under add_remove."""
    if sampling == "fixed_size" and adjacency == "add_remove":
        raise InputError(
            "sampling is 'fixed_size' and adjacency 'add_remove': a draw of fixed size needs a public number of units, "
            "which add_remove keeps private; declare zero_out or replace_one, or sample by poisson"
        )


def _mixtures(q: float, p: float, s: float) -> HalfProfile:
    """(1 - q) N(0) + q N(p) against (1 - q) N(0) + q N(s), for s in {0, -p, p / 2}: the worst event is {x > cut}."""
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
    """M'(mu e) against M'(mu e'): E[(f(A) - alpha f(B))+], A and B independent N(0, 1), f(t) = M(mu)(t) / N(0, 1)(t).

    Exact in A. The integral over B is a trapezoid sum, whose error falls exponentially: the integrand's singularities
    are pi / mu off the real line, eight steps and more.
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
    """Logarithm of the positive root y of e^a y^2 = e^b y + e^c."""
    return np.asarray(np.logaddexp(b, np.logaddexp(2 * b, math.log(4) + a + c) / 2) - math.log(2) - a)


def _vanishing(q: float, mu: float) -> HalfProfile:
    """N(0) against (1 - q) N(0) + q N(mu): the worst event is {x < cut}; no loss exceeds -log(1 - q)."""
    from scipy.special import ndtr

    log_q, log_rest = math.log(q), math.log1p(-q)

    def delta(epsilon: Float[np.ndarray, " epsilon"]) -> Float[np.ndarray, " epsilon"]:
        possible = np.minimum(epsilon, -log_rest)
        with np.errstate(divide="ignore"):
            cut = (np.log(np.maximum(q + np.expm1(-possible), 0.0)) - log_q + mu * mu / 2) / mu
        found = -np.expm1(possible + log_rest) * ndtr(cut) - np.exp(possible + log_q) * ndtr(cut - mu)
        return np.where(epsilon < -log_rest, np.maximum(found, 0.0), 0.0)

    return HalfProfile(delta, float(-np.logaddexp(log_rest, log_q - mu * _REACH - mu * mu / 2)))
