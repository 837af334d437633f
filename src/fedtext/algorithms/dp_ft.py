"""DP-FT: a generator fine-tuned on private preference pairs by DP-SGD, the baseline of DPPrefSyn's paper (App. C.3).

| there | here |
|---|---|
| "splitting the private dataset evenly into two disjoint halves" | `in_halves`: by a hash of the unit's own code |
| SFT on the preferred response | `training.dp_losses.TEXTS`, prompts shown and not scored |
| DPO from the SFT model | `training.dp_losses.preferences`, against the merged SFT model |
| DP-SGD by Opacus, PRV accountant | `federation.noisy_steps`: exact noise, Poisson samples, privacy loss distribution |

The halves are two budget groups of one ledger (`fedtext.privacy.parties`), each with the whole budget. A unit is in one
half and takes part in one training, so the run's privacy cost is the larger of the two. That needs neighbours whose
units stay in their half. A record that is replaced by another has another code and may change halves, so replace_one
is refused where the unit is a record. The size of a half is not read from the data: a half is declared a few deviations
larger than an even split, and a step's sampling is accounted for at that size.

The unprotected form has both trainings on all pairs without clip or noise, and enters that in the ledger.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import unit_codes
from fedtext.params.dp_ft import DpFt
from fedtext.params.privacy import Privacy
from fedtext.params.training import DpSgd
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.parties import Party
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError
from fedtext.training import dp_sgd

NAME = "dp_ft"
Stage = Literal["sft", "dpo"]
HALVES: dict[Stage, str] = {"sft": "half for SFT", "dpo": "half for DPO"}
DEVIATIONS = 6.0  # standard deviations: once in 10^9 runs a half is larger than declared, and is refused


def half_size(population: int) -> int:
    """Return the declared number of units of a half: an even split plus `DEVIATIONS`, at most all."""
    return min(population, math.ceil(population / 2 + DEVIATIONS * math.sqrt(population) / 2))


def stages(params: DpFt) -> tuple[Stage, ...]:
    """Return the trainings of a form that are released."""
    forms: dict[str, tuple[Stage, ...]] = {"private": ("sft", "dpo"), "sft": ("sft",), "unprotected": ()}
    return forms[params.form]


def training_of(params: DpFt, stage: Stage) -> DpSgd:
    """Return the parameters of one training."""
    return params.sft if stage == "sft" else params.dpo


def planned_query(stage: Stage, params: DpFt, privacy: Privacy, population: int, *, dim: int) -> Query:
    """Plan one training as a release in which its half alone takes part; `population` counts both halves.

    Raises:
        ValueError: the expected batch is larger than a half.
    """
    name, units = f"{NAME}.{stage}", half_size(population)
    query = dp_sgd.planned_query(name, training_of(params, stage), privacy, units, dim=dim, group=name)
    return replace(query, parties=(HALVES[stage],))


def planned_ledger(population: int, params: DpFt, privacy: Privacy, *, dim: int) -> Ledger:
    """Return an empty ledger of two halves, before any pair is read.

    Raises:
        BudgetExceeded: a training would overdraw its half's budget.
        ValueError: the declaration is invalid for this population, the data holders add shares of the noise, or a
            replaced record would change halves.
    """
    if privacy.aggregation != "trusted":
        raise InputError(
            f"privacy.aggregation is {privacy.aggregation}: DP-FT is a curator's training on one half after the other; "
            "set privacy.aggregation to trusted",
            code="halves-need-a-curator",
            parameter="privacy.aggregation",
            value=privacy.aggregation,
        )
    if privacy.unit == "record" and privacy.adjacency == "replace_one":
        raise InputError(
            "privacy.adjacency is replace_one and privacy.unit record: a pair that is replaced may change halves, and "
            "both would pay; set privacy.adjacency to zero_out or add_remove",
            code="replaced-pair-changes-halves",
            parameter="privacy.adjacency",
            value="replace_one",
        )
    size = half_size(population)
    halves = [Party(name=name, kind="half", population=size, epsilon=privacy.epsilon) for name in HALVES.values()]
    queries = [planned_query(stage, params, privacy, population, dim=dim) for stage in stages(params)]
    ledger = opened_ledger(queries, privacy, 2 * size, parties=halves)
    return ledger.model_copy(update={"enrolled": population, "planned_unaccounted": params.form == "unprotected"})


def in_halves(samples: PrivateSamples) -> PrivateSamples:
    """Return the samples with their unit's half as data holder, which depends on the unit's code alone."""
    codes = unit_codes(list(HALVES.values()))
    units, place = np.unique(samples.unit, return_inverse=True)
    second = np.array([derived_seed(0, NAME, "half", int(unit)) % 2 for unit in units], dtype=np.int64)
    return replace(samples, holder=codes[second][place])


def of_first_rows(samples: PrivateSamples) -> PrivateSamples:
    """Return the chosen answers alone: the first of the two rows of each pair."""
    return replace(samples, features=samples.features[:, : samples.features.shape[1] // 2])
