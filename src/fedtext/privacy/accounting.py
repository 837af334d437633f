"""The accountant: the epsilon of Gaussian releases, sampled or not, and of their composition.

A release that adds noise of standard deviation s to a value of L2 sensitivity D is the pair N(0, 1), N(mu, 1) with
shift mu = D / s, whatever the dimension, and releases of shifts mu_1 ... mu_T together are one release of shift
sqrt(mu_1^2 + ... + mu_T^2). The classical s = D sqrt(2 ln(1.25 / delta)) / epsilon is not used anywhere: it is loose,
and wrong for epsilon > 1.

A sampled release is accounted by its dominating pair (fedtext.privacy.dominating_pairs).

Releases without sampling compose in closed form. With sampling, each release's dominating pair becomes a privacy loss
distribution on a grid by 'connect the dots' (Doroshenko et al., PETS 2022), which only ever overstates delta, and
dp_accounting composes them.

A Renyi accountant at Opacus' orders is here too, only for comparison with printed numbers: it covers Gaussian releases
under add/remove or zero_out, without sampling or with Poisson sampling. Opacus itself is not imported, since it loads
torch; tests compare the two.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from fedtext.params.privacy import Adjacency, Sampling
from fedtext.privacy.dominating_pairs import (
    HalfProfile,
    Profile,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_pair,
    validate_accountable,
    worst_pair,
)
from fedtext.system.errors import InputError

SMALLEST_DELTA = 1e-11  # below it the rounding of the Fourier transform is no longer negligible
ROUNDING = 1e-9  # relative: floating-point tolerance when an epsilon is compared with a budget
_TRUNCATED = 1e-15  # mass that a composition may count as an infinite loss
_CELLS = 2**18  # the most cells in the grid of one release
_LARGEST_SHIFT = 1e4  # beyond it, at an epsilon of millions, a grid of so many cells is too coarse for floating point

Pair = tuple[HalfProfile, HalfProfile]


def accounted_shift(shift: float) -> float:
    """Round a shift up to twelve digits, so that shifts that differ in the last bits have one privacy cost.

    Epsilon under sampling is a step function: its grid depends on the shift, and moves epsilon by up to 1e-5. So noise
    that was calibrated at one shift and accounted at the next may seem to cost too much
    (fedtext.privacy.calibration.keeps).
    """
    return float(f"{shift * (1 + 1e-12):.12g}")


@dataclass(frozen=True)
class SampledGaussian:
    """A kind of Gaussian release, `rounds` times; `shift` is a contribution's largest norm over the noise stddev.

    `non_negative`: no coordinate of a contribution is below 0, which matters only when one unit replaces another.
    """

    sampling: Sampling
    rate: float
    shift: float
    rounds: int = 1
    non_negative: bool = False

    @property
    def amplified(self) -> bool:
        """True if a unit may be left out of a release, so that sampling amplifies privacy."""
        return self.sampling != "full" and self.rate < 1

    def largest_move(self, adjacency: Adjacency) -> float:
        """Return by how many noise stddevs one unit can move the sum, given that it is sampled.

        Two vectors of norm at most C are 2 C apart, two without a negative coordinate only sqrt(2) C:
        |x - y|^2 = |x|^2 + |y|^2 - 2 <x, y>, and <x, y> >= 0.
        """
        if adjacency != "replace_one":
            return self.shift
        return (math.sqrt(2) if self.non_negative else 2.0) * self.shift


def sampling_probability(releases: Iterable[SampledGaussian]) -> float:
    """Bound the probability that one unit is sampled at all; a delta as large covers whatever it contributes."""
    return sum(one.rounds * (one.rate if one.amplified else 1.0) for one in releases)


def composed_epsilon(releases: Iterable[SampledGaussian], *, delta: float, adjacency: Adjacency) -> float:
    """Compute the smallest epsilon proven at `delta` for all releases: exact without sampling, within 1e-5 with it.

    Raises:
        ValueError: `fixed_size` under `add_remove`, or sampling with a delta below 1e-11.
    """
    return _composed_epsilon(_kinds(releases, adjacency), delta, adjacency)


def composed_profiles(releases: Iterable[SampledGaussian], *, adjacency: Adjacency) -> tuple[Profile, ...]:
    """Return the hockey-stick divergence of all releases as a function of any real epsilon, or an upper bound of it.

    There is one for each order of the neighbours, with the unit against without and without against with; one alone
    where both are the same. `composed_epsilon` is where the larger of them falls to delta.

    Raises:
        ValueError: `fixed_size` under `add_remove`.
    """
    sampled, unsampled = _split(_kinds(releases, adjacency), adjacency)
    if not sampled:
        return (_gaussian_profile(unsampled),)
    parts = _parts(sampled, unsampled, adjacency)
    step = _grid_step(parts)
    return tuple(_profile_of(_total_loss(ordered, step)) for ordered in _orders(parts, adjacency))


def _gaussian_profile(shift: float) -> Profile:
    def delta(epsilon: Float[np.ndarray, " epsilon"]) -> Float[np.ndarray, " epsilon"]:
        if shift == 0:
            return np.asarray(np.maximum(-np.expm1(epsilon), 0.0))
        # H_alpha(P || Q) = alpha H_{1/alpha}(Q || P) + 1 - alpha
        found, below = gaussian_delta(shift, np.abs(epsilon)), np.minimum(epsilon, 0.0)
        return np.asarray(np.exp(below) * found - np.expm1(below))

    return delta


def _profile_of(loss: Any) -> Profile:
    """Return the hockey-stick divergence of a composed loss, by sums of its tail.

    dp_accounting's own function goes through half a million losses one by one, for all epsilons once.
    """
    losses = (np.arange(loss.size) + loss._lower_loss) * loss._discretization
    # A capped exponent leaves the divergence too large, if anything.
    with_unit, without = loss._probs, loss._probs * np.exp(np.minimum(-losses, 700.0))
    tails = [np.append(np.cumsum(mass[::-1])[::-1], 0.0) for mass in (with_unit, without)]

    def delta(epsilon: Float[np.ndarray, " epsilon"]) -> Float[np.ndarray, " epsilon"]:
        first = np.searchsorted(losses, epsilon)
        upper, lower = (tail[first] for tail in tails)
        return np.asarray(loss._infinity_mass + upper - np.exp(epsilon) * lower)

    return delta


def _kinds(releases: Iterable[SampledGaussian], adjacency: Adjacency) -> tuple[SampledGaussian, ...]:
    """Return the releases with equal ones counted, in one order."""
    counted: Counter[SampledGaussian] = Counter()
    for release in releases:
        validate_accountable(release.sampling, adjacency)
        counted[replace(release, rounds=1)] += release.rounds
    return tuple(sorted((replace(kind, rounds=rounds) for kind, rounds in counted.items()), key=repr))


def _split(kinds: Iterable[SampledGaussian], adjacency: Adjacency) -> tuple[list[SampledGaussian], float]:
    """Return the sampled releases, and the shift of all others together."""
    kinds = tuple(kinds)
    sampled = [kind for kind in kinds if kind.amplified and kind.shift <= _LARGEST_SHIFT]
    others = _moved([kind for kind in kinds if kind not in sampled], adjacency)  # without sampling the cost is higher
    if others > _LARGEST_SHIFT:  # a grid that reaches so far is too coarse for the sampled ones
        return [], _moved(kinds, adjacency)
    return sampled, others


def _moved(kinds: Iterable[SampledGaussian], adjacency: Adjacency) -> float:
    """Return by how many noise stddevs one unit can move all of the releases together, sampled in each."""
    return math.sqrt(sum(kind.rounds * kind.largest_move(adjacency) ** 2 for kind in kinds))


def _parts(sampled: Iterable[SampledGaussian], unsampled: float, adjacency: Adjacency) -> list[tuple[Pair, int]]:
    """Return the dominating pairs to compose, and how often each."""
    parts = [
        (worst_pair(kind.sampling, adjacency, kind.rate, kind.shift, non_negative=kind.non_negative), kind.rounds)
        for kind in sampled
    ]
    return [*parts, (gaussian_pair(unsampled), 1)] if unsampled else parts


def _orders(parts: list[tuple[Pair, int]], adjacency: Adjacency) -> list[list[tuple[Pair, int]]]:
    """Return the pairs in both orders; under replace_one both are the same."""
    return [parts] if adjacency == "replace_one" else [parts, [(pair[::-1], rounds) for pair, rounds in parts]]


@lru_cache(maxsize=4096)
def _composed_epsilon(kinds: tuple[SampledGaussian, ...], delta: float, adjacency: Adjacency) -> float:
    sampled, unsampled = _split(kinds, adjacency)
    if not sampled:
        return gaussian_epsilon(unsampled, delta) if unsampled else 0.0
    if not unsampled and sampling_probability(sampled) <= delta:
        return 0.0
    if delta < SMALLEST_DELTA:
        raise InputError(
            f"delta is {delta}: with sampling epsilon is computed for delta >= {SMALLEST_DELTA}",
            code="delta-too-small",
            parameter="delta",
            value=delta,
        )
    parts = _parts(sampled, unsampled, adjacency)
    step = _grid_step(parts)
    return max(_one_way_epsilon(ordered, step, delta) for ordered in _orders(parts, adjacency))


def _grid_step(parts: list[tuple[Pair, int]]) -> float:
    """Choose a grid step for an error of 1e-5 in epsilon, limited by memory.

    The error grows with rounds x step^2; the number of cells is bounded.
    """
    widths = [pair[0].top + pair[1].top for pair, _ in parts]
    wanted = min(2e-3 / math.sqrt(sum(rounds for _, rounds in parts)), min(widths) / 1000)
    return max(wanted, max(widths) / _CELLS)


def _one_way_epsilon(parts: list[tuple[Pair, int]], step: float, delta: float) -> float:
    from scipy.optimize import brentq

    total = _total_loss(parts, step)

    def excess(epsilon: float) -> float:
        return float(total.get_delta_for_epsilon(epsilon)) - delta

    if excess(math.inf) > 0:
        return math.inf
    if excess(0.0) <= 0:
        return 0.0
    enough = 1.0
    while excess(enough) > 0:
        enough *= 2
    return float(brentq(excess, 0.0, enough, xtol=1e-10))


def _total_loss(parts: list[tuple[Pair, int]], step: float) -> Any:
    """Compose the privacy loss distributions of all pairs, each as often as it says."""
    composed = [_on_grid(*pair, step).self_compose(rounds, _TRUNCATED) for pair, rounds in parts]
    total = composed[0]
    for loss in composed[1:]:
        total = total.compose(loss, _TRUNCATED)
    return total


def _on_grid(out: HalfProfile, back: HalfProfile, step: float) -> Any:
    """Build the privacy loss distribution on multiples of `step`, by 'connect the dots'.

    Its profile joins points of the pair's profile by chords, so it is never below it.
    """
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    highest, lowest = math.ceil(out.top / step), -math.ceil(back.top / step)
    negative, positive = np.arange(lowest, 0) * step, np.arange(highest + 1) * step
    # H_alpha(P || Q) = alpha H_{1/alpha}(Q || P) + 1 - alpha
    below = np.exp(negative) * back.delta(-negative) - np.expm1(negative)
    delta = np.clip(np.concatenate([below, out.delta(positive)]), 0.0, 1.0)
    delta = np.maximum.accumulate(delta[::-1])[::-1]
    slope = np.diff(delta) / math.expm1(step)
    mass = np.empty_like(delta)
    mass[0] = 1 - delta[0] + slope[0]
    mass[1:-1] = np.diff(slope) - math.expm1(step) * slope[:-1]
    mass[-1] = -math.exp(step) * slope[-1]
    return DensePLDPmf(step, lowest, np.maximum(mass, 0.0), float(delta[-1]), True)


ORDERS = [1 + x / 10 for x in range(1, 100)] + [float(order) for order in range(12, 64)]  # Opacus' default alphas


def rdp_epsilon(releases: Iterable[SampledGaussian], delta: float) -> float:
    """Compute epsilon of Gaussian releases by Renyi divergences, under add/remove or zero_out, by `dp_accounting`.

    Sampling is accounted as Poisson's (Mironov, Talwar and Zhang, 2019). A shift that is not the add/remove one (twice
    the norm under replace_one) is sound without sampling only. An order at which the series does not converge is left
    out, so epsilon is never below that of Opacus, and less than 0.2% above it as long as it is below 10.
    """
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders=ORDERS)
    with _without_warnings():
        for release in releases:
            event = GaussianDpEvent(1 / release.shift)
            if release.amplified:
                event = PoissonSampledDpEvent(release.rate, event)
            accountant.compose(event, release.rounds)
        return float(accountant.get_epsilon(delta))


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence `dp_accounting`'s warnings of every order that it leaves out: the result stays a valid bound."""
    log = logging.getLogger("absl")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


Accountant = Literal["pld", "rdp"]


def epsilon(
    *,
    noise_multiplier: float,
    delta: float,
    rounds: int,
    adjacency: Adjacency = "zero_out",
    sampling: Sampling = "full",
    rate: float = 1.0,
    non_negative: bool = False,
    accountant: Accountant = "pld",
) -> float:
    """Compute epsilon at `delta` of `rounds` releases of a sum of clipped contributions, one every round.

    `pld` is exact without sampling (all releases are one Gaussian) and within 1e-5 of the best provable bound with it
    (the module's text has the mechanisms). `rdp` is the accountant that papers used, Renyi divergences at Opacus'
    orders, for comparison with printed numbers.

    Args:
        noise_multiplier: Noise stddev over the clip norm, whatever the adjacency: replace_one moves the sum by up to
            twice the clip norm, or by sqrt(2) times if contributions are `non_negative`.
        delta: The delta of (epsilon, delta) privacy.
        rounds: Number of releases.
        adjacency: How neighbouring data sets differ.
        sampling: How units are sampled.
        rate: The probability (poisson) or the share (fixed_size) of units sampled.
        non_negative: No contribution has a coordinate below 0.
        accountant: `pld` or `rdp`.

    Raises:
        ValueError: an argument is invalid, or no sound epsilon is known for the combination: a rate other than 1 with
            full participation, fixed_size under add_remove, or sampling under `rdp` other than Poisson under zero_out
            or add_remove.
    """
    check_declaration(delta=delta, rounds=rounds, adjacency=adjacency, sampling=sampling, rate=rate)
    if not (noise_multiplier > 0 and math.isfinite(noise_multiplier)):
        raise InputError(
            f"noise_multiplier is {noise_multiplier}: it must be positive and finite",
            code="noise-multiplier-out-of-range",
            parameter="noise_multiplier",
            value=noise_multiplier,
        )
    _validate_choice(accountant, "accountant", Accountant)
    release = SampledGaussian(sampling, rate, 1 / noise_multiplier, rounds, non_negative)
    if accountant == "pld":
        return composed_epsilon([release], delta=delta, adjacency=adjacency)
    if release.amplified and (sampling != "poisson" or adjacency == "replace_one"):
        raise InputError(
            f"accountant is '{accountant}', which prices sampling by poisson under zero_out or add_remove only, not "
            f"'{sampling}' under '{adjacency}': use accountant='pld'",
            code="accountant-cannot-price",
            parameter="accountant",
            value=accountant,
        )
    return rdp_epsilon([replace(release, shift=release.largest_move(adjacency))], delta)


def check_declaration(*, delta: float, rounds: int, adjacency: Adjacency, sampling: Sampling, rate: float) -> None:
    """Raise ValueError, naming value and demand, unless the accountant covers such releases."""
    if not 0 < delta < 1:
        raise InputError(
            f"delta is {delta}: it must lie strictly between 0 and 1",
            code="delta-out-of-range",
            parameter="delta",
            value=delta,
        )
    if isinstance(rounds, bool) or rounds != int(rounds) or rounds < 1:
        raise InputError(
            f"rounds is {rounds}: it must be a whole number of at least 1",
            code="rounds-out-of-range",
            parameter="rounds",
            value=rounds,
        )
    _validate_choice(adjacency, "adjacency", Adjacency)
    _validate_choice(sampling, "sampling", Sampling)
    if not 0 < rate <= 1:
        raise InputError(
            f"rate is {rate}: it must lie in (0, 1]", code="rate-out-of-range", parameter="rate", value=rate
        )
    if sampling == "full" and rate != 1:
        raise InputError(
            f"rate is {rate} with sampling 'full': it must be 1; or sample by poisson or fixed_size",
            code="rate-of-all-below-one",
            parameter="rate",
            value=rate,
        )
    validate_accountable(sampling, adjacency)


def _validate_choice(value: str, name: str, known: object) -> None:
    if value not in get_args(known):
        raise InputError(
            f"{name} is {value!r}: it must be one of {', '.join(get_args(known))}",
            code="unknown-choice",
            parameter=name,
            value=value,
        )
