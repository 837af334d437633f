"""The two accountants the papers used, as Opacus has them, for comparison with printed numbers only.

Both price Gaussian releases under add/remove or zero_out, without sampling or with Poisson sampling. They are written
here because importing Opacus loads torch; tests hold them to Opacus itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float

from fedtext.privacy.privacy_loss import SampledGaussian
from fedtext.system.errors import InputError

ORDERS = np.array([1 + x / 10 for x in range(1, 100)] + list(range(12, 64)))  # Opacus' default alphas
PRV_EPSILON_ERROR = 0.01  # Opacus' default


def rdp_epsilon(releases: Iterable[SampledGaussian], delta: float) -> float:
    """Epsilon by Renyi divergences of the orders Opacus tries (Mironov, Talwar and Zhang, 2019, section 3).

    The conversion is Balle et al., AISTATS 2020, Theorem 21. A shift that is not the add/remove one (twice the norm
    under replace_one) is sound without sampling only.
    """
    total = sum(release.rounds * _renyi_divergence(_rate(release), release.shift) for release in releases)
    return max(0.0, float(np.min(total - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1) + np.log1p(-1 / ORDERS))))


def prv_epsilon(release: SampledGaussian, delta: float) -> float:
    """Upper end of the interval that contains epsilon by the PRV accountant (Gopi, Lee and Wutschitz, NeurIPS 2021).

    Opacus' settings: an interval of +- 0.01 in epsilon and delta / 1000 in delta; the direction 'with against
    without' only.

    Raises:
        ValueError: the numerics fail at this delta or this little noise.
    """
    rounds, slack = release.rounds, delta / 1000
    mesh = PRV_EPSILON_ERROR / math.sqrt(rounds * math.log(12 / slack) / 2)
    single = SampledGaussian(release.sampling, release.rate, release.shift)
    reach = max(rdp_epsilon([release], slack / 4), rdp_epsilon([single], slack / (8 * rounds)), PRV_EPSILON_ERROR) + 3
    half = math.ceil(reach / mesh)
    losses = np.arange(-half, half) * mesh
    mass = np.diff(_loss_cdf(_rate(release), release.shift, np.append(losses, half * mesh) - mesh / 2))
    drift = _mean_loss(_rate(release), release.shift, half * mesh) - float(losses @ mass)
    if abs(drift) >= mesh / 2:
        raise InputError(f"accountant 'prv' fails at shift {release.shift}: use accountant='pld'")
    # Centred at index `half`, the rounds-fold convolution modulo the grid keeps its centre.
    spectrum = np.fft.rfft(np.fft.ifftshift(mass)) ** rounds
    composed = np.fft.fftshift(np.fft.irfft(spectrum, len(mass)))
    losses = losses + rounds * drift
    above = np.cumsum(composed[::-1])[::-1]
    weighted = np.cumsum((composed * np.exp(-losses))[::-1])[::-1]
    cell = int(np.searchsorted(np.exp(losses) * weighted - above, slack - delta))
    if not 0 < cell < len(losses) or above[cell] <= delta - slack:
        raise InputError(f"accountant 'prv' fails at delta {delta} and shift {release.shift}: use accountant='pld'")
    return max(0.0, math.log((above[cell] - delta + slack) / weighted[cell]) + PRV_EPSILON_ERROR)


def _rate(release: SampledGaussian) -> float:
    return release.rate if release.amplified else 1.0


def _renyi_divergence(rate: float, shift: float) -> Float[np.ndarray, " order"]:
    """Renyi divergence of (1 - q) N(0) + q N(shift) from N(0) at every order, by the trapezoidal rule.

    The integrand has bumps at 0 and at order x shift only; the rule converges geometrically on them.
    """
    from scipy.special import logsumexp

    if rate == 1:
        return ORDERS * shift**2 / 2
    step = 0.05 / max(1.0, shift / 2)
    window = np.arange(-math.ceil(13 / step), math.ceil(13 / step) + 1)
    divergence = np.empty_like(ORDERS)
    for i, order in enumerate(ORDERS):
        x = np.union1d(window, window + round(order * shift / step)) * step
        ratio = np.logaddexp(math.log1p(-rate), math.log(rate) + shift * x - shift**2 / 2)
        log_moment = logsumexp(order * ratio - x**2 / 2) + math.log(step) - math.log(2 * math.pi) / 2
        divergence[i] = max(0.0, log_moment / (order - 1))
    return divergence


def _loss_cdf(rate: float, shift: float, loss: Float[np.ndarray, " loss"]) -> Float[np.ndarray, " loss"]:
    """Distribution of log(M / N(0)) under M = (1 - q) N(0) + q N(shift)."""
    from scipy.special import ndtr

    with np.errstate(divide="ignore"):
        log_excess = np.log(np.maximum(np.exp(loss) - 1 + rate, 0.0)) if rate < 1 else loss
    x = (log_excess - math.log(rate) + shift**2 / 2) / shift
    return np.asarray((1 - rate) * ndtr(x) + rate * ndtr(x - shift))


def _mean_loss(rate: float, shift: float, reach: float) -> float:
    """Mean of the loss under M, given that it lies within +-reach."""
    x = np.linspace(-13.0, shift + 13.0, 200_001)
    density = (1 - rate) * np.exp(-(x**2) / 2) + rate * np.exp(-((x - shift) ** 2) / 2)
    rest = math.log1p(-rate) if rate < 1 else -math.inf
    loss = np.logaddexp(rest, math.log(rate) + shift * x - shift**2 / 2)
    density *= np.abs(loss) <= reach
    return float(density @ loss / density.sum())
