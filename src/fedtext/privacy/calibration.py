"""How much noise a privacy budget asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from fedtext.params.privacy import Adjacency, Sampling
from fedtext.privacy.accountant import check_declaration
from fedtext.privacy.accountant import epsilon as epsilon_of
from fedtext.privacy.gaussian import gaussian_shift
from fedtext.privacy.privacy_loss import SampledGaussian
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
) -> float:
    """Smallest noise multiplier (noise deviation over clip norm) that keeps `rounds` releases at (epsilon, delta).

    Exact without sampling, within a relative 1e-6 with it, and never on the side of too little noise. The arguments
    are those of `fedtext.privacy.accountant.epsilon`.

    Raises:
        ValueError: `epsilon` is not positive and finite, or what `fedtext.privacy.accountant.epsilon` refuses.
    """
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise InputError(f"epsilon is {epsilon}: it must be positive and finite")
    check_declaration(delta=delta, rounds=rounds, adjacency=adjacency, sampling=sampling, rate=rate)
    return _noise_multiplier(epsilon, delta, rounds, adjacency, sampling, rate, non_negative)


@lru_cache(maxsize=1024)
def _noise_multiplier(
    budget: float,
    delta: float,
    rounds: int,
    adjacency: Adjacency,
    sampling: Sampling,
    rate: float,
    non_negative: bool,
) -> float:
    from scipy.optimize import brentq

    def excess(log_multiplier: float) -> float:
        spent = epsilon_of(
            noise_multiplier=math.exp(log_multiplier),
            delta=delta,
            rounds=rounds,
            adjacency=adjacency,
            sampling=sampling,
            rate=rate,
            non_negative=non_negative,
        )
        return spent - budget

    norms = SampledGaussian("full", 1.0, 1.0, non_negative=non_negative).largest_move(adjacency)
    enough = math.log(norms * math.sqrt(rounds) / gaussian_shift(budget, delta))  # sampling only ever helps
    if sampling == "full" or rate == 1:
        return _raised_until(excess, enough, 1e-15)
    enough += 0.01  # the grid of a rate near 1 may overstate epsilon in its last digits
    while excess(enough - 1.0) <= 0:
        enough -= 1.0
    return _raised_until(excess, float(brentq(excess, enough - 1.0, enough, xtol=2e-7)), 2e-7)


def _raised_until(excess: Callable[[float], float], log_multiplier: float, step: float) -> float:
    """The multiplier, raised from a root's last digits until the budget is kept."""
    while excess(log_multiplier) > 0:
        log_multiplier += step
        step *= 2
    return math.exp(log_multiplier)
