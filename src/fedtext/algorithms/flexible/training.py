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
from jaxtyping import Float32, Int, Int32

from fedtext.algorithms.flexible.plan import DP_SGD
from fedtext.algorithms.flexible.profile import code_request
from fedtext.federation.noisy_steps import NoisyStep, release_joint_noisy_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import Block, digest
from fedtext.models.generator import TrainableGenerator
from fedtext.params.flexible import Flexible, SiloTraining
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.system.progress import progress
from fedtext.training.coded_rows import row_width, token_rows
from fedtext.training.federated_averaging import new_server, server_step
from fedtext.training.unit_gradients import UnitGradients

Weights = Float32[np.ndarray, " dim"]
GradientsAt = Callable[[Weights, PrivateSamples], Iterable[Block]]  # unclipped gradients of each unit that has samples
TrainsLocally = Callable[[Weights, int], Weights]  # a silo: where its steps from the common weights end, in a round


def rows_behind_codes(
    generator: TrainableGenerator, params: Flexible, length: int, texts: Sequence[str], labels: Sequence[str | None]
) -> tuple[Int32[np.ndarray, "row position"], Int[np.ndarray, " row"]]:
    """Return the rows of tokens of the texts of declared codes, each behind its code, and the place of each row's text.

    Args:
        generator: The generator that is trained, whose tokenizer it is.
        params: Parameters of the run.
        length: Tokens of a text in a row.
        texts: Texts.
        labels: Their codes.

    Raises:
        ValueError: the generator reads fewer tokens at once than a code and a text have.
    """
    model, tokenizer = generator.load()
    width = row_width(model, tokenizer, [code_request(params, code) for code in params.classes], length, DP_SGD)
    kept = np.array([place for place, label in enumerate(labels) if not params.labels or label in params.labels], int)
    before = [code_request(params, labels[place]) for place in kept]
    rows, text = token_rows(tokenizer, before, [texts[place] for place in kept], width=width)
    return rows, kept[text]


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
        asked,
        lambda asks: federated_averaging([local_training(ask, gradients_at, params) for ask in asks], start, params),
        samples,
        ledger,
        key,
    )


def federated_averaging(silos: Sequence[TrainsLocally], start: Weights, params: SiloTraining) -> Weights:
    """Run all rounds of the server: theta + eta times the mean of the silos' differences."""
    weights = start
    for number in progress(range(1, params.rounds + 1), "federated DP-SGD", unit="round"):
        moved = np.zeros(weights.size)
        for silo in silos:
            moved += silo(weights, number).astype(np.float64) - weights
        weights = (weights + params.server_rate * moved / len(silos)).astype(np.float32)
    return weights


def local_training(ask: NoisyStep, gradients_at: GradientsAt, params: SiloTraining) -> TrainsLocally:
    """Return a silo whose samples are in this process."""
    return lambda common, _round: local_weights(ask, gradients_at, common, params)


def local_weights(ask: NoisyStep, gradients_at: GradientsAt, common: Weights, params: SiloTraining) -> Weights:
    """Compute where one silo's local steps from the common weights end: all that it sends to the server in a round."""
    own = new_server(common, params.optimizer)
    for _ in range(params.local_steps):
        weights = own["weights"]
        noised = ask(partial(gradients_at, weights), digest(weights))
        own = server_step(own, -noised / params.batch_size, params.optimizer)
    return np.asarray(own["weights"], dtype=np.float32)
