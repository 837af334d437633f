"""Calibration: the least noise that keeps a privacy budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from fedtext.params.privacy import Adjacency, Sampling
from fedtext.privacy.accounting import (
    ROUNDING,
    SampledGaussian,
    accounted_shift,
    check_declaration,
    composed_epsilon,
    sampling_probability,
)
from fedtext.privacy.dominating_pairs import gaussian_shift
from fedtext.system.errors import InputError


def noise_multiplier(
    *,
    epsilon: float,
    delta: float,
    rounds: int,
    adjacency: Adjacency = "zero_out",
    sampling: Sampling = "full",
    rate: float = 1.0,
    non_negative: bool = False,
    beside: tuple[SampledGaussian, ...] = (),
) -> float:
    """Compute the smallest noise multiplier (noise stddev over clip norm) that keeps `rounds` releases at a budget.

    The result is exact without sampling, within a relative 1e-6 with it, and never on the side of too little noise.

    Args:
        epsilon: The budget of all releases together, those in `beside` included.
        delta: The delta at which the budget holds.
        rounds: Number of releases to calibrate.
        adjacency: As for `fedtext.privacy.accounting.epsilon`.
        sampling: As for `fedtext.privacy.accounting.epsilon`.
        rate: As for `fedtext.privacy.accounting.epsilon`.
        non_negative: As for `fedtext.privacy.accounting.epsilon`.
        beside: Other releases of the same units, with fixed noise; all of them together keep the budget.

    Raises:
        ValueError: `epsilon` is not positive and finite, the releases beside use it up, or
            `fedtext.privacy.accounting.epsilon` would raise it.
    """
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise InputError(
            f"epsilon is {epsilon}: it must be positive and finite",
            code="epsilon-out-of-range",
            parameter="epsilon",
            value=epsilon,
        )
    check_declaration(delta=delta, rounds=rounds, adjacency=adjacency, sampling=sampling, rate=rate)
    if (spent := composed_epsilon(beside, delta=delta, adjacency=adjacency)) >= epsilon:
        raise InputError(
            f"the budget is epsilon {epsilon:.6g}, and other releases alone cost {spent:.6g}: give them more noise, or "
            "declare a larger epsilon",
            code="budget-spent-by-others",
            parameter="epsilon",
            value=epsilon,
        )
    asked = sampling_probability([*beside, SampledGaussian(sampling, rate, 1.0, rounds)])
    if asked <= delta:
        raise InputError(
            f"delta is {delta:g}, and a unit is asked with a probability of {asked:.2g} in all {rounds} rounds: delta "
            "would allow its text to be released as it is; declare a delta far below that, or ask more units",
            code="delta-covers-participation",
            parameter="delta",
            value=delta,
        )
    return _noise_multiplier(epsilon, delta, rounds, adjacency, sampling, rate, non_negative, beside)


def keeps(kinds: Sequence[SampledGaussian], *, epsilon: float, delta: float, adjacency: Adjacency) -> bool:
    """Return True if a ledger with this budget accepts these releases, accounted at `accounted_shift` of their shifts.

    A release's shift is sensitivity over noise stddev, which may differ from one over the multiplier in the last few
    bits: so both privacy costs are checked where that decides the twelfth digit.
    """
    return all(
        composed_epsilon(
            [replace(kind, shift=accounted_shift(kind.shift * bits)) for kind in kinds],
            delta=delta,
            adjacency=adjacency,
        )
        <= epsilon * (1 + ROUNDING)
        for bits in (1 - 1e-15, 1.0, 1 + 1e-15)
    )


@lru_cache(maxsize=1024)
def _noise_multiplier(
    budget: float,
    delta: float,
    rounds: int,
    adjacency: Adjacency,
    sampling: Sampling,
    rate: float,
    non_negative: bool,
    beside: tuple[SampledGaussian, ...],
) -> float:
    from scipy.optimize import brentq

    def all_at(log_multiplier: float) -> list[SampledGaussian]:
        return [*beside, SampledGaussian(sampling, rate, 1 / math.exp(log_multiplier), rounds, non_negative)]

    def excess(log_multiplier: float) -> float:
        return composed_epsilon(all_at(log_multiplier), delta=delta, adjacency=adjacency) - budget

    def is_too_little(log_multiplier: float) -> bool:
        kinds = all_at(log_multiplier)
        return excess(log_multiplier) > 0 or not keeps(kinds, epsilon=budget, delta=delta, adjacency=adjacency)

    # Sampling only ever helps: without it all releases are one Gaussian, whose squared shifts add up.
    moved = SampledGaussian("full", 1.0, 1.0, non_negative=non_negative).largest_move(adjacency)
    left = gaussian_shift(budget, delta) ** 2 - sum(one.rounds * one.largest_move(adjacency) ** 2 for one in beside)
    enough = math.log(moved * math.sqrt(rounds) / math.sqrt(left)) if left > 0 else 0.0
    amplified = [one for one in (*beside, SampledGaussian(sampling, rate, 1.0)) if one.amplified]
    if not amplified:
        return _raised_while(is_too_little, enough, 1e-15)
    enough += 0.01  # the grid of a rate near 1 may overstate epsilon in its last digits
    while excess(enough) > 0:
        enough += 1.0
    while excess(enough - 1.0) <= 0:
        enough -= 1.0
    return _raised_while(is_too_little, float(brentq(excess, enough - 1.0, enough, xtol=2e-7)), 2e-7)


def _raised_while(is_too_little: Callable[[float], bool], log_multiplier: float, step: float) -> float:
    """Raise the log multiplier by steps from a root's last digits until the budget is kept; return the multiplier."""
    while is_too_little(log_multiplier):
        log_multiplier += step
        step *= 2
    return math.exp(log_multiplier)
