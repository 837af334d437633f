"""DPPrefSyn's planned releases, and how the budget is shared among them, before a private value is read.

Releases without sampling compose as Gaussians: shares w of the squared shifts that add up to 1 give T equal releases
the multiplier s sqrt(T / w), where s is that of one release with the whole budget. Where heads are trained on Poisson
samples, all multipliers are then scaled until the joint privacy loss distribution meets the budget.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.query import Query
from fedtext.params.dpprefsyn import UNLEARNED, Dpprefsyn
from fedtext.params.privacy import Privacy
from fedtext.privacy.accounting import SampledGaussian, composed_epsilon
from fedtext.privacy.calibration import keeps
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.pca import triangle_size
from fedtext.privacy.plan import batch_rate, planned_multiplier
from fedtext.privacy.signal import Training, Vector
from fedtext.system.errors import InputError

MOMENT, CLUSTERS, HEADS = "dpprefsyn.second_moment", "dpprefsyn.clusters", "dpprefsyn.heads"
BATCH = "dpprefsyn.training.batch"
TALLIES = 3  # iterations of k-means: fixed, so that convergence reveals nothing private
_CLOSE = 1e-4  # relative tolerance of the scaling


@dataclass(frozen=True)
class Planned:
    """Releases of one kind.

    Attributes:
        count: Number of releases; of Poisson-sampled steps, which are one release, the number of steps.
        share: Share of the budget.
        dim: Width of a unit's contribution.
        batch: Expected units in a step's sample; None: all units are queried.
    """

    count: int
    share: float
    dim: int
    batch: int | None = None


@dataclass(frozen=True)
class Plan:
    """All releases of a run by name, each kind with its noise multiplier."""

    kinds: Mapping[str, Planned]
    multipliers: Mapping[str, float]

    @classmethod
    def of(cls, params: Dpprefsyn, privacy: Privacy, population: int, embedding_dim: int) -> Plan:
        """Plan the releases of these parameters.

        Raises:
            ValueError: the run declares its own sampling, but several kinds of releases share the budget.
        """
        kinds = planned_kinds(params, population, embedding_dim)
        if len(kinds) > 1 and privacy.sampling != "full":
            raise InputError(
                f"privacy.sampling is {privacy.sampling} and {' and '.join(kinds)} share the budget as Gaussians "
                "without sampling compose: set privacy.sampling to full, or dpprefsyn.form to single",
                code="shared-budget-with-sampling",
                parameter="privacy.sampling",
                value=privacy.sampling,
            )
        own = privacy.model_copy(update={"epsilon": privacy.epsilon * params.heads_share})
        return cls(kinds, _multipliers(kinds, own, population))

    def query(self, name: str, number: int = 0, clip_norm: float = 1.0) -> Query:
        """Return a planned query; noise scales with the clip norm, so 1 may stand for a norm that is not known yet."""
        kind, multiplier = self.kinds[name], self.multipliers[name]
        steps = kind.count if kind.batch is not None else 1
        use = Training() if name == HEADS and kind.count > 1 else Vector()
        return Query(name, number, kind.dim, clip_norm, multiplier, batch=kind.batch, steps=steps, use=use)

    def queries(self) -> list[Query]:
        """Return all planned queries."""
        return [
            self.query(name, number)
            for name, kind in self.kinds.items()
            for number in (range(1, kind.count + 1) if kind.batch is None else (1,))
        ]


def planned_kinds(params: Dpprefsyn, population: int, embedding_dim: int) -> dict[str, Planned]:
    """Return the kinds of releases, with shares of the budget that add up to 1.

    Raises:
        ValueError: there are more directions than an embedding has dimensions.
    """
    if params.form in UNLEARNED:
        return {}
    part = embedding_dim if params.projection == "none" else params.dimensions
    if part > embedding_dim:
        raise InputError(
            f"dpprefsyn.dimensions is {part}, but an embedding has {embedding_dim}: ask for no more, or "
            "projection none",
            code="more-dimensions-than-embedding",
            parameter="dpprefsyn.dimensions",
            value=part,
        )
    kinds = {}
    if params.parts == "cited":
        return {HEADS: _heads(params, population, 1.0, params.heads * part)}
    if params.projection == "private":
        kinds[MOMENT] = Planned(1, params.projection_share, triangle_size(embedding_dim))
    left = 1.0 - sum(kind.share for kind in kinds.values())
    if params.clusters_privately:
        share = params.cluster_share if params.trains_heads else left
        kinds[CLUSTERS] = Planned(TALLIES, share, params.heads * (part + 1))
    if params.trains_heads:
        left = 1.0 - sum(kind.share for kind in kinds.values())
        kinds[HEADS] = _heads(params, population, left, params.heads * part)
    return kinds


def planned_ledger(population: int, params: Dpprefsyn, privacy: Privacy, *, embedding_dim: int) -> Ledger:
    """Return an empty ledger for `population` units, before any pair is embedded.

    Raises:
        BudgetExceeded: the planned releases would overdraw the budget.
        ValueError: the declaration is invalid for this population, or a batch is larger than it.
    """
    if population < 2:
        raise InputError(
            f"{population} {privacy.unit} to learn from: nobody to hide among; give pairs of more",
            code="too-few-units",
            value=population,
        )
    plan = Plan.of(params, privacy, population, embedding_dim)
    ledger = opened_ledger(plan.queries(), privacy, population)
    return ledger.model_copy(update={"planned_unaccounted": params.form == "published"})


def _heads(params: Dpprefsyn, population: int, share: float, dim: int) -> Planned:
    """Plan one sum of differences, or `steps` sums of gradients, or Poisson-sampled steps."""
    training = params.training
    if params.scorer == "mean_difference":
        return Planned(1, share, dim)
    if training.batch is None:
        return Planned(training.steps, share, dim)
    return Planned(max(1, math.ceil(training.epochs * population / training.batch)), share, dim, training.batch)


def _multipliers(kinds: Mapping[str, Planned], privacy: Privacy, population: int) -> dict[str, float]:
    """Return each kind's multiplier: calibrated for one kind, by shares for several, scaled where one is sampled."""
    if len(kinds) == 1:
        ((name, kind),) = kinds.items()
        return {name: planned_multiplier(privacy, population, kind.count, batch=kind.batch, batch_parameter=BATCH)}
    found = {}
    for name, kind in kinds.items():
        sampled = kind.batch is not None
        asked = kind.count if sampled else 1
        whole = planned_multiplier(privacy, population, asked, batch=kind.batch, batch_parameter=BATCH)
        found[name] = whole * math.sqrt((1 if sampled else kind.count) / kind.share)
    sampled_kinds = any(kind.batch is not None for kind in kinds.values())
    if not sampled_kinds or privacy.noise_multiplier is not None:
        return found
    parts = tuple(
        SampledGaussian(
            "full" if kind.batch is None else "poisson",
            1.0 if kind.batch is None else batch_rate(privacy, population, kind.batch, parameter=BATCH),
            1 / found[name],
            kind.count,
        )
        for name, kind in kinds.items()
    )
    factor = _enough(parts, privacy.epsilon, privacy.delta, privacy.adjacency)
    return {name: multiplier * factor for name, multiplier in found.items()}


@lru_cache(maxsize=64)
def _enough(parts: tuple[SampledGaussian, ...], epsilon: float, delta: float, adjacency: str) -> float:
    """Return the least factor on all multipliers at which the releases meet epsilon, to a relative `_CLOSE`."""

    def kept(factor: float) -> bool:
        scaled = [SampledGaussian(one.sampling, one.rate, one.shift / factor, one.rounds) for one in parts]
        told: dict[str, Any] = {"delta": delta, "adjacency": adjacency}
        return composed_epsilon(scaled, **told) <= epsilon and keeps(scaled, epsilon=epsilon, **told)

    low, high = 0.5, 1.0
    while not kept(high):
        low, high = high, 2 * high
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high
