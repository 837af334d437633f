"""The epsilon of a run of equal Gaussian releases."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, get_args

from fedtext.params.privacy import Adjacency, Sampling
from fedtext.privacy.privacy_loss import SampledGaussian, composed_epsilon
from fedtext.privacy.published_accountants import rdp_epsilon
from fedtext.privacy.worst_pairs import refuse_unpriceable
from fedtext.system.errors import InputError

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
    """Epsilon at `delta` of `rounds` releases of a sum of clipped contributions, one every round.

    `noise_multiplier` is the noise's standard deviation over the clip norm, whatever the adjacency: replace_one moves
    the sum by up to twice the clip norm, or by sqrt(2) times if contributions are `non_negative`. `rate` is the
    probability (poisson) or the share (fixed_size) of units asked.

    `pld` is exact without sampling (all releases are one Gaussian) and within 1e-5 of the best provable bound with it
    (fedtext.privacy.worst_pairs has the mechanisms). `rdp` is the accountant that papers used, Renyi divergences at
    Opacus' orders, for comparison with printed numbers.

    Raises:
        ValueError: an argument that is no such thing, or a combination that cannot be priced soundly: a rate other
            than 1 with full participation, fixed_size under add_remove, or sampling under `rdp` other than Poisson
            under zero_out or add_remove.
    """
    check_declaration(delta=delta, rounds=rounds, adjacency=adjacency, sampling=sampling, rate=rate)
    if not (noise_multiplier > 0 and math.isfinite(noise_multiplier)):
        raise InputError(f"noise_multiplier is {noise_multiplier}: it must be positive and finite")
    _refuse_other(accountant, "accountant", Accountant)
    release = SampledGaussian(sampling, rate, 1 / noise_multiplier, rounds, non_negative)
    if accountant == "pld":
        return composed_epsilon([release], delta=delta, adjacency=adjacency)
    if release.amplified and (sampling != "poisson" or adjacency == "replace_one"):
        raise InputError(
            f"accountant is '{accountant}', which prices sampling by poisson under zero_out or add_remove only, not "
            f"'{sampling}' under '{adjacency}': use accountant='pld'"
        )
    return rdp_epsilon([replace(release, shift=release.largest_move(adjacency))], delta)


def check_declaration(*, delta: float, rounds: int, adjacency: Adjacency, sampling: Sampling, rate: float) -> None:
    """Raise ValueError, naming value and demand, unless these describe releases that can be priced."""
    if not 0 < delta < 1:
        raise InputError(f"delta is {delta}: it must lie strictly between 0 and 1")
    if isinstance(rounds, bool) or rounds != int(rounds) or rounds < 1:
        raise InputError(f"rounds is {rounds}: it must be a whole number of at least 1")
    _refuse_other(adjacency, "adjacency", Adjacency)
    _refuse_other(sampling, "sampling", Sampling)
    if not 0 < rate <= 1:
        raise InputError(f"rate is {rate}: it must lie in (0, 1]")
    if sampling == "full" and rate != 1:
        raise InputError(f"rate is {rate} with sampling 'full': it must be 1; or sample by poisson or fixed_size")
    refuse_unpriceable(sampling, adjacency)


def _refuse_other(value: str, name: str, known: object) -> None:
    if value not in get_args(known):
        raise InputError(f"{name} is {value!r}: it must be one of {', '.join(get_args(known))}")
