"""The release mechanism of DP-SGD: many noisy sums, each queried adaptively, charged as one release.

DP-SGD (Abadi et al., CCS 2016) queries the sum of clipped gradients of a secret Poisson sample some hundred times. All
its steps are one release: they are charged together before the first, by the privacy loss distribution of the sampled
Gaussian, composed `Query.steps` times. The privacy cost holds however a step depends on the results of the steps
before.

The results of the steps stay inside the call until the training is over. Then its receipt, a digest of all sums, is
recorded, and only then are its result and the ledger returned: a training that was killed has released nothing, and a
repeated training gives the same bytes and is the same release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np
from jaxtyping import Float

from fedtext.federation.charged_release import ChargedRelease, charged_releases
from fedtext.federation.mechanism import PlannedSum, dequantise, planned_sum
from fedtext.federation.messages import BlocksOf, Request, message_sum
from fedtext.federation.private_samples import PrivateSamples, sampled_units, taking_part
from fedtext.federation.query import Query
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.system.errors import InputError

Result = TypeVar("Result")


class NoisyStep(Protocol):
    """The function through which a training queries the units: one step a call."""

    def __call__(self, blocks_of: BlocksOf, public_digest: str) -> Float[np.ndarray, " dim"]:
        """Return the noisy sum of the contributions of the units sampled for this step, each clipped by the mechanism.

        Args:
            blocks_of: Computes the contributions of units from their samples, not yet clipped, at most one row a unit.
            public_digest: Digest of the public inputs of the contributions, such as the weights.

        Raises:
            ValueError: the training takes more steps than were charged, or a block is malformed.
        """


def release_noisy_steps(
    query: Query, training: Callable[[NoisyStep], Result], samples: PrivateSamples, ledger: Ledger, key: NoiseKey
) -> tuple[Result, Ledger]:
    """Run `training` on at most `query.steps` noisy sums, and return its result and the charged ledger.

    Every step samples its units and draws rounding randomness and noise anew, by streams of its own whose names hold
    the whole release and `query.draw`: no other training shares a sample. Noise is bound to the very sum it hides. An
    empty sample gives pure noise. The training must divide sums by `query.batch`, the expected sample size, never by
    the actual sample size, which is private.

    Args:
        query: As it was planned (`fedtext.federation.mechanism.opened_ledger`).
        training: Queries step by step; its result depends on public values and the noisy sums alone.
        samples: The samples of all units.
        ledger: The ledger to charge.
        key: The run's secret noise key.

    Returns:
        The training's result, and the ledger that was charged for all steps.

    Raises:
        BudgetExceeded: ledger or budget guard refuse; no private value has been read.
        ValueError: aggregation is local, where the server sees the senders; `secure_sum.release_noisy_sum` would raise
            it; or the training takes more steps than were charged.
    """
    return release_joint_noisy_steps([query], lambda asks: training(asks[0]), samples, ledger, key)


def release_joint_noisy_steps(
    queries: Sequence[Query],
    training: Callable[[Sequence[NoisyStep]], Result],
    samples: PrivateSamples,
    ledger: Ledger,
    key: NoiseKey,
) -> tuple[Result, Ledger]:
    """Run one training on the steps of several queries, as of one a party: one `NoisyStep` for each, in their order.

    All queries are charged before the first step of any. A local query of one party (`Query.own`) is allowed under any
    aggregation: the party samples its own units, and no other party sees its sum before noise.

    Raises:
        BudgetExceeded: ledger or budget guard refuse one; no private value has been read.
        ValueError: `release_noisy_steps` would raise it for one of the queries.
    """
    plans = [_planned(query, ledger) for query in queries]
    with charged_releases(plans, samples, ledger, key) as (charged, releases):
        steps = [_Steps(plan, release, key) for plan, release in zip(plans, releases, strict=True)]
        return training(steps), charged


class _Steps:
    """The steps of one charged query (a `NoisyStep`), released one by one."""

    def __init__(self, plan: PlannedSum, release: ChargedRelease, key: NoiseKey) -> None:
        self._plan, self._release, self._key = plan, release, key
        self._made = 0

    def __call__(self, blocks_of: BlocksOf, public_digest: str) -> Float[np.ndarray, " dim"]:
        """Release one step (`NoisyStep`)."""
        plan, query, samples = self._plan, self._plan.query, self._release.samples
        self._made += 1
        if self._made > query.steps:
            raise InputError(
                f"{query.name}: step {self._made} of {query.steps} that were charged: plan as many as are asked",
                code="step-beyond-charge",
                value=self._made,
            )
        stream = (plan.release.stream_name(), str(query.dim), f"step {self._made}", public_digest, *query.draw)
        # The privacy cost assumes independent samples: another noise or another training has samples of its own.
        drawn = sampled_units(samples, self._release.part, self._key, replace(query, draw=stream))
        total = message_sum(Request(blocks_of, plan, self._key, stream), samples, drawn)
        return dequantise(self._release.noised(total, stream), plan.step)


def _planned(query: Query, ledger: Ledger) -> PlannedSum:
    """Return the plan of one step of the query."""
    part = taking_part(ledger, query.parties)
    plan = planned_sum(query, ledger.declaration, part.population, len(part.parties) or None)
    if ledger.declaration.aggregation == "local" and not query.own:
        raise InputError(
            f"{query.name}: steps are summed before noise is added: declare aggregation secure or trusted",
            code="steps-need-a-sum",
            parameter="privacy.aggregation",
            value=query.name,
        )
    plan.validate_modulus(64)
    return plan
