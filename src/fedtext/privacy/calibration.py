"""How much noise a privacy budget asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from fedtext.params.privacy import Adjacency, Sampling
from fedtext.privacy.accountant import check_declaration
from fedtext.privacy.gaussian import gaussian_shift
from fedtext.privacy.privacy_loss import SampledGaussian, composed_epsilon
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
    """Smallest noise multiplier (noise deviation over clip norm) that keeps `rounds` releases at (epsilon, delta).

    Exact without sampling, within a relative 1e-6 with it, and never on the side of too little noise. `beside` are
    other releases, of a noise that is settled, which the same units pay for: all of them together keep the budget. The
    further arguments are those of `fedtext.privacy.accountant.epsilon`.

    Raises:
        ValueError: `epsilon` is not positive and finite, the releases beside leave nothing of it, or what
            `fedtext.privacy.accountant.epsilon` refuses.
    """
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise InputError(f"epsilon is {epsilon}: it must be positive and finite")
    check_declaration(delta=delta, rounds=rounds, adjacency=adjacency, sampling=sampling, rate=rate)
    if (spent := composed_epsilon(beside, delta=delta, adjacency=adjacency)) >= epsilon:
        raise InputError(
            f"the budget is epsilon {epsilon:.6g}, and other releases alone cost {spent:.6g}: give them more noise, or "
            "declare a larger epsilon"
        )
    return _noise_multiplier(epsilon, delta, rounds, adjacency, sampling, rate, non_negative, beside)


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

    def excess(log_multiplier: float) -> float:
        release = SampledGaussian(sampling, rate, 1 / math.exp(log_multiplier), rounds, non_negative)
        return composed_epsilon([*beside, release], delta=delta, adjacency=adjacency) - budget

    # Sampling only ever helps: without it all releases are one Gaussian, whose squared shifts add up.
    moved = SampledGaussian("full", 1.0, 1.0, non_negative=non_negative).largest_move(adjacency)
    left = gaussian_shift(budget, delta) ** 2 - sum(one.rounds * one.largest_move(adjacency) ** 2 for one in beside)
    enough = math.log(moved * math.sqrt(rounds) / math.sqrt(left)) if left > 0 else 0.0
    amplified = [one for one in (*beside, SampledGaussian(sampling, rate, 1.0)) if one.amplified]
    if not amplified:
        return _raised_until(excess, enough, 1e-15)
    enough += 0.01  # the grid of a rate near 1 may overstate epsilon in its last digits
    while excess(enough) > 0:
        enough += 1.0
    while excess(enough - 1.0) <= 0:
        enough -= 1.0
    return _raised_until(excess, float(brentq(excess, enough - 1.0, enough, xtol=2e-7)), 2e-7)


def _raised_until(excess: Callable[[float], float], log_multiplier: float, step: float) -> float:
    """The multiplier, raised from a root's last digits until the budget is kept."""
    while excess(log_multiplier) > 0:
        log_multiplier += step
        step *= 2
    return math.exp(log_multiplier)
