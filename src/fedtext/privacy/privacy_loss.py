"""Composition of Gaussian releases, sampled or not: the smallest epsilon that can be proven for all of them together.

Releases without sampling compose in closed form. With sampling, each release's worst pair (fedtext.privacy.worst_pairs)
becomes a privacy loss distribution on a grid by 'connect the dots' (Doroshenko et al., PETS 2022), which only ever
overstates delta, and dp_accounting composes them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from fedtext.params.privacy import Adjacency, Sampling
from fedtext.privacy.gaussian import gaussian_epsilon
from fedtext.privacy.worst_pairs import HalfProfile, gaussian_pair, refuse_unpriceable, worst_pair
from fedtext.system.errors import InputError

SMALLEST_DELTA = 1e-11  # below it the rounding of the Fourier transform is no longer negligible
ROUNDING = 1e-9  # relative: what a budget may be passed by, for what floating point loses on its way into a price
_TRUNCATED = 1e-15  # mass that a composition may count as an infinite loss
_CELLS = 2**18  # the most cells in the grid of one release
_LARGEST_SHIFT = 1e4  # beyond it, at an epsilon of millions, a grid of so many cells is too coarse for floating point

Pair = tuple[HalfProfile, HalfProfile]


def priced_shift(shift: float) -> float:
    """Twelve digits, rounded up: shifts that differ in the last bits are one kind, and have one price.

    A sampled release's price moves in steps: its grid depends on the shift, and moves epsilon by up to 1e-5. So noise
    that is settled at one shift and priced at the next may seem to cost too much (fedtext.privacy.calibration.keeps).
    """
    return float(f"{shift * (1 + 1e-12):.12g}")


@dataclass(frozen=True)
class SampledGaussian:
    """`rounds` Gaussian releases of one kind; `shift` is a contribution's largest norm over the noise's deviation.

    `non_negative`: no coordinate of a contribution is below 0, which tells only when one unit replaces another.
    """

    sampling: Sampling
    rate: float
    shift: float
    rounds: int = 1
    non_negative: bool = False

    @property
    def amplified(self) -> bool:
        """Whether a unit may be left out of a release."""
        return self.sampling != "full" and self.rate < 1

    def largest_move(self, adjacency: Adjacency) -> float:
        """How far one unit moves the sum, over the noise's deviation, if it is asked for sure.

        Two vectors of norm at most C are 2 C apart, two without a negative coordinate only sqrt(2) C:
        |x - y|^2 = |x|^2 + |y|^2 - 2 <x, y>, and <x, y> >= 0.
        """
        if adjacency != "replace_one":
            return self.shift
        return (math.sqrt(2) if self.non_negative else 2.0) * self.shift


def chance_of_being_asked(releases: Iterable[SampledGaussian]) -> float:
    """At most with this probability one unit is asked at all: up to here delta itself covers whatever it says."""
    return sum(one.rounds * (one.rate if one.amplified else 1.0) for one in releases)


def composed_epsilon(releases: Iterable[SampledGaussian], *, delta: float, adjacency: Adjacency) -> float:
    """Smallest epsilon proven at `delta` for all releases: exact without sampling, within 1e-5 of the bound with it.

    Raises:
        ValueError: `fixed_size` under `add_remove`, or sampling with a delta below 1e-11.
    """
    counted: Counter[SampledGaussian] = Counter()
    for release in releases:
        refuse_unpriceable(release.sampling, adjacency)
        counted[replace(release, rounds=1)] += release.rounds
    kinds = [replace(kind, rounds=rounds) for kind, rounds in counted.items()]
    return _composed_epsilon(tuple(sorted(kinds, key=repr)), delta, adjacency)


@lru_cache(maxsize=4096)
def _composed_epsilon(kinds: tuple[SampledGaussian, ...], delta: float, adjacency: Adjacency) -> float:
    sampled = [kind for kind in kinds if kind.amplified and kind.shift <= _LARGEST_SHIFT]
    others = [kind for kind in kinds if kind not in sampled]  # sampling only helps: without it a release costs more
    unsampled = math.sqrt(sum(kind.rounds * kind.largest_move(adjacency) ** 2 for kind in others))
    if not sampled:
        return gaussian_epsilon(unsampled, delta) if unsampled else 0.0
    if not unsampled and chance_of_being_asked(sampled) <= delta:
        return 0.0
    if delta < SMALLEST_DELTA:
        raise InputError(f"delta is {delta}: with sampling epsilon is computed for delta >= {SMALLEST_DELTA}")
    parts = [
        (worst_pair(kind.sampling, adjacency, kind.rate, kind.shift, non_negative=kind.non_negative), kind.rounds)
        for kind in sampled
    ]
    if unsampled:
        parts.append((gaussian_pair(unsampled), 1))
    step = _grid_step(parts)
    epsilon = _one_way_epsilon(parts, step, delta)
    if adjacency == "replace_one":  # every pair is its own mirror image
        return epsilon
    return max(epsilon, _one_way_epsilon([(pair[::-1], rounds) for pair, rounds in parts], step, delta))


def _grid_step(parts: list[tuple[Pair, int]]) -> float:
    """Fine enough for an error of 1e-5 in epsilon: it grows with rounds x step^2; bounded in cells for memory."""
    widths = [pair[0].top + pair[1].top for pair, _ in parts]
    wanted = min(2e-3 / math.sqrt(sum(rounds for _, rounds in parts)), min(widths) / 1000)
    return max(wanted, max(widths) / _CELLS)


def _one_way_epsilon(parts: list[tuple[Pair, int]], step: float, delta: float) -> float:
    from scipy.optimize import brentq

    composed = [_on_grid(*pair, step).self_compose(rounds, _TRUNCATED) for pair, rounds in parts]
    total = composed[0]
    for loss in composed[1:]:
        total = total.compose(loss, _TRUNCATED)

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


def _on_grid(out: HalfProfile, back: HalfProfile, step: float) -> Any:
    """The loss distribution on multiples of `step` whose profile joins the pair's by chords, so is never below it."""
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
