"""The server's side of a training at silos: each is asked round by round, and only its trained weights come back.

The server charges its ledger for all rounds of all silos before the first, as for a training in its own process
(fedtext.federation.noisy_steps). A silo samples its units and draws its noise by itself, one round at a time, and
charges its own ledger. A training that was killed is asked again, and silos repeat what they trained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from jaxtyping import Float32, Shaped

from fedtext.federation.charged_release import ChargedRelease, charged_releases
from fedtext.federation.inquiry import AskedQuery, Inquiry, Trained
from fedtext.federation.masked_sum import garbage
from fedtext.federation.mechanism import PlannedSum, planned_sum
from fedtext.federation.query import Query
from fedtext.federation.question import Asked
from fedtext.federation.secure_sum import sum_stream
from fedtext.federation.silos_asked import NOBODY, Silos, receipt_key
from fedtext.privacy.ledger import Ledger

Result = TypeVar("Result")
Weights = Float32[np.ndarray, " dim"]


@dataclass(frozen=True)
class TrainingSilo:
    """One silo's training, charged: it is asked a round at a time.

    Attributes:
        silos: The way to all silos.
        plan: The plan of all its steps.
        release: The server's charged release of all its steps.
    """

    silos: Silos
    plan: PlannedSum
    release: ChargedRelease

    def trained(self, training: Asked, round: int, steps: int) -> Weights:
        """Return the weights at which the silo's noisy steps of one round end.

        Raises:
            RuntimeError: the silo refuses, is missing, or sends what cannot be weights.
        """
        query, (party,) = replace(self.plan.query, round=round, steps=steps), self.release.part.parties
        inquiry, there = Inquiry(AskedQuery.of(query), training), len(self.release.ledger.parties)
        weights = self.silos.answers(inquiry, [party], Trained, there)[party.name].weights
        if (fault := _fault_of(weights, query.dim)) is not None:
            raise garbage(party.name, fault, self.plan)
        told = weights.view(np.int32).astype(np.int64)  # the server's receipt is of their very bits
        self.release.sum_of_noised(lambda _: [told], (*sum_stream(self.plan), f"round {round}"), query.dim)
        return weights


def train_at_silos(
    silos: Silos, queries: Sequence[Query], training: Callable[[Mapping[str, TrainingSilo]], Result], ledger: Ledger
) -> tuple[Result, Ledger]:
    """Run `training` on silos that train by themselves, by name; return its result and the charged ledger.

    Args:
        silos: The way to all silos.
        queries: All steps of each silo that trains, as planned: each names its one party.
        training: Asks silos round by round; its result depends on public values and their weights alone.
        ledger: The ledger to charge.

    Raises:
        BudgetExceeded: ledger or budget guard refuse one; nobody was asked.
        RuntimeError: a silo refuses, is missing, or sends what cannot be weights; nothing is released.
    """
    plans = [planned_sum(query, ledger.declaration, _population(query, ledger), 1) for query in queries]
    with charged_releases(plans, NOBODY, ledger, receipt_key(ledger)) as (charged, releases):
        asked = {
            release.part.parties[0].name: TrainingSilo(silos, plan, release)
            for plan, release in zip(plans, releases, strict=True)
        }
        return training(asked), charged


def _population(query: Query, ledger: Ledger) -> int:
    return sum(party.population for party in ledger.parties if party.name in (query.parties or ()))


def _fault_of(weights: Shaped[np.ndarray, ...], dim: int) -> str | None:
    if weights.dtype != np.float32:
        return f"weights of type {weights.dtype} in place of float32"
    if weights.shape != (dim,):
        return f"{'x'.join(map(str, weights.shape))} weights in place of {dim}"
    return None if np.isfinite(weights).all() else "weights that are not finite"
