"""Phase 1: federated averaging of strong silos, each by its own DP-SGD (Algorithm A.3).

A silo's difference depends on the common weights, its own units and the run's secret alone, to the bit. The common
weights add up the differences in the order of the silos' names.

What differs from the paper: a local step is one batch, not all of them. Batches are Poisson samples, as the privacy
analysis assumes, and get noise also where they are empty. The silo's optimizer is new each round and may be Adam. The
mean is over the M silos that train.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from jaxtyping import Float, Float32

from fedtext.federation.noisy_steps import NoisyStep, release_joint_noisy_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import Block, digest
from fedtext.params.flexible import SiloTraining
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.system.progress import progress
from fedtext.training.federated_averaging import new_server, server_step
from fedtext.training.unit_gradients import UnitGradients

Weights = Float32[np.ndarray, " dim"]
GradientsAt = Callable[[Weights, PrivateSamples], Iterable[Block]]  # unclipped gradients of each unit that has samples


def unit_gradients(gradients: UnitGradients, weights: Weights, held: PrivateSamples) -> Iterable[Block]:
    """Compute the gradients of the units of these samples at these weights of a language model (`GradientsAt`)."""
    return gradients.of(weights, held.features, held.unit)


def trained_weights(
    queries: Sequence[Query],
    gradients_at: GradientsAt,
    start: Weights,
    samples: PrivateSamples,
    params: SiloTraining,
    ledger: Ledger,
    key: NoiseKey,
) -> tuple[Weights, Ledger]:
    """Train the common weights in all rounds, and charge every strong silo in the ledger.

    Args:
        queries: One per strong silo (`fedtext.algorithms.flexible.plan.dp_sgd_queries`).
        gradients_at: Gradients of units at given weights.
        start: The public weights.
        samples: Samples of all units; `holder` is the silo.
        params: Rounds, steps and rates.
        ledger: The ledger that is charged.
        key: The run's secret.

    Raises:
        BudgetExceeded: ledger or budget guard refuse a silo's steps; no private value has been read.
        ValueError: the errors of `fedtext.federation.noisy_steps.release_joint_noisy_steps`.
    """
    settings = params.model_dump_json()
    asked = [query.about(digest(start), settings) for query in sorted(queries, key=lambda query: query.parties or ())]
    return release_joint_noisy_steps(
        asked, lambda asks: federated_averaging(asks, gradients_at, start, params), samples, ledger, key
    )


def federated_averaging(
    asks: Sequence[NoisyStep], gradients_at: GradientsAt, start: Weights, params: SiloTraining
) -> Weights:
    """Run all rounds of the server: theta + eta times the mean of the silos' differences."""
    weights = start
    for _ in progress(range(params.rounds), "federated DP-SGD", unit="round"):
        moved = np.zeros(weights.size)
        for ask in asks:
            moved += local_difference(ask, gradients_at, weights, params)
        weights = (weights + params.server_rate * moved / len(asks)).astype(np.float32)
    return weights


def local_difference(
    ask: NoisyStep, gradients_at: GradientsAt, common: Weights, params: SiloTraining
) -> Float[np.ndarray, " dim"]:
    """Compute what one silo's local steps add to the common weights: all that it sends to the server in a round."""
    own = new_server(common, params.optimizer)
    for _ in range(params.local_steps):
        weights = own["weights"]
        noised = ask(partial(gradients_at, weights), digest(weights))
        own = server_step(own, -noised / params.batch_size, params.optimizer)
    return np.asarray(own["weights"].astype(np.float64) - common)
