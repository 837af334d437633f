"""DP-SGD (Abadi et al., CCS 2016) of a causal language model: of a LoRA adapter or of all weights.

| Algorithm 1 | here | meaning |
|---|---|---|
| L / N | `Query.batch` over the ledger's population | probability with which a unit is in a step's batch |
| T | `Query.steps` | steps: public, charged together before the first |
| g_t(x_i) | `fedtext.training.unit_gradients` | gradient of a unit's mean loss over its texts or preferences |
| C | `Query.clip_norm` | largest L2 norm of a gradient |
| sigma | `Query.noise_multiplier` | standard deviation of the noise on the sum, divided by C |
| theta_t - eta_t g_t | `fedtext.training.federated_averaging` | plain, momentum or Adam's step on the noisy mean |

What differs from the paper: noise is an exact discrete Gaussian, and its privacy cost is computed from the privacy loss
distribution instead of the moments accountant. The sum is divided by the expected batch size, as in the paper, also
where a sample is empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from fedtext.federation.messages import BlocksOf
from fedtext.federation.noisy_steps import NoisyStep, release_noisy_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import Block, digest
from fedtext.params.privacy import Privacy
from fedtext.params.training import DpDescent, DpSgd
from fedtext.privacy.accounting import SampledGaussian
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.plan import planned_multiplier
from fedtext.privacy.signal import Training
from fedtext.seeding import stream
from fedtext.system.progress import progress
from fedtext.training.dp_losses import TEXTS, UnitLoss
from fedtext.training.federated_averaging import Server, new_server, server_step
from fedtext.training.unit_gradients import UnitGradients

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def steps_of(params: DpDescent, population: int) -> int:
    """Return the public number of steps in which a unit is sampled `params.epochs` times on average."""
    return max(1, math.ceil(params.epochs * population / params.batch_size))


def expected_exchanges(params: DpDescent, population: int) -> float:
    """Return how often a unit is sampled in the whole training, in expectation."""
    return steps_of(params, population) * params.batch_size / population


def planned_query(
    name: str,
    params: DpDescent,
    privacy: Privacy,
    population: int,
    *,
    dim: int,
    group: str,
    beside: tuple[SampledGaussian, ...] = (),
) -> Query:
    """Plan the one release of a training of `dim` weights: all its steps, with the noise calibrated to the budget.

    `group` is where `params` stand among the parameters, for errors; `beside` are other releases of the same units that
    share the budget.

    Raises:
        ValueError: the expected batch is larger than the population, or the run declares its own sampling.
    """
    steps = steps_of(params, population)
    declared = f"{group}.batch_size"
    noise = planned_multiplier(
        privacy, population, steps, batch=params.batch_size, batch_parameter=declared, beside=beside
    )
    return Query(name, 0, dim, params.clip_norm, noise, batch=params.batch_size, steps=steps, use=Training())


def trained_weights(
    query: Query,
    model: PreTrainedModel,
    start: Float[np.ndarray, " dim"],
    samples: PrivateSamples,
    params: DpSgd,
    ledger: Ledger,
    key: NoiseKey,
    loss: UnitLoss = TEXTS,
    *,
    settings: str,
) -> tuple[Server, Ledger]:
    """Train the weights of `model` that require gradients by DP-SGD, from `start`.

    The same call gives the same bytes.

    Args:
        query: The training's release (`planned_query`).
        model: The model; its other weights stay frozen.
        start: Initial values of the trained weights, in one vector.
        samples: Private examples; `features` are rows of tokens in the form of `UnitGradients.of`.
        params: Batch size, rates and optimizer.
        ledger: The ledger so far.
        key: The run's secret key for sampling and noise.
        loss: Loss of one example.
        settings: All other public inputs, such as parameters, model and prior tuning; their digest, with that of the
            weights, selects the random stream of the sampling.

    Returns:
        The server's state, with the trained weights and the optimizer's moments, and the charged ledger.

    Raises:
        BudgetExceeded: the ledger or the budget guard refuses; no private value has been read.
        ValueError: the errors of `fedtext.federation.noisy_steps.release_noisy_steps`.
    """
    gradients = UnitGradients(model, params.units_at_once, params.gradients, loss)
    at = partial(partial, _gradients, gradients)
    return descended(query.about("", settings), start, at, samples, params, ledger, key)


def descended(
    query: Query,
    start: Float[np.ndarray, " dim"],
    gradients_at: Callable[[Float[np.ndarray, " dim"]], BlocksOf],
    samples: PrivateSamples,
    params: DpDescent,
    ledger: Ledger,
    key: NoiseKey,
) -> tuple[Server, Ledger]:
    """Take the steps of the query from `start`, by noisy means of the units' gradients.

    `gradients_at` returns, for weights, what computes the units' gradients there, unclipped. All else is as for
    `trained_weights`.
    """

    def training(ask: NoisyStep) -> Server:
        server = new_server(start, params.optimizer)
        for _ in progress(range(query.steps), "DP-SGD", unit="step"):
            weights = server["weights"]
            noised = ask(gradients_at(weights), digest(weights))
            server = server_step(server, -noised / params.batch_size, params.optimizer)
        return server

    return release_noisy_steps(query, training, samples, ledger, key)


def trained_unprotected(
    model: PreTrainedModel,
    start: Float[np.ndarray, " dim"],
    samples: PrivateSamples,
    params: DpSgd,
    loss: UnitLoss = TEXTS,
    *,
    seed: int,
) -> Server:
    """Train as `trained_weights` does, but without clipping and noise, and with batches sampled by a public seed.

    It is the non-private upper bound and no release: it protects no unit, so the caller must enter that in the ledger.
    """
    gradients, units = UnitGradients(model, params.units_at_once, params.gradients, loss), np.unique(samples.unit)
    server, random = new_server(start, params.optimizer), stream(seed, "unprotected draws")
    for _ in progress(range(steps_of(params, len(units))), "SGD without protection", unit="step"):
        drawn = samples.of_units(units[random.random(len(units)) < params.batch_size / len(units)])
        total = np.zeros(start.size)
        for block in _gradients(gradients, server["weights"], drawn):
            total += block.rows.sum(axis=0, dtype=np.float64)
        server = server_step(server, -total / params.batch_size, params.optimizer)
    return server


def _gradients(gradients: UnitGradients, weights: Float[np.ndarray, " dim"], held: PrivateSamples) -> Iterator[Block]:
    """Yield the gradients of the units of these samples."""
    return gradients.of(weights, held.features, held.unit)
