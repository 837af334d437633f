"""DP-SGD (Abadi et al., CCS 2016) of a causal language model, a low-rank adapter of it or all of its weights.

| Algorithm 1 | here | meaning |
|---|---|---|
| L / N | `Query.batch` over the ledger's population | probability with which a unit is in a step's batch |
| T | `Query.steps` | steps: public, charged together before the first |
| g_t(x_i) | `fedtext.training.unit_gradients` | gradient of a unit's mean loss, of its texts or of its preferences |
| C | `Query.clip_norm` | largest L2 norm of it |
| sigma | `Query.noise_multiplier` | deviation of the noise on the sum, over C |
| theta_t - eta_t g_t | `fedtext.training.federated_averaging` | plain, momentum or Adam's step on the noised mean |

What differs from the paper: noise is an exact discrete Gaussian, priced by the privacy loss distribution and not by the
moments accountant; the sum is divided by the expected batch, as theirs, also where a draw comes out empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from fedtext.federation.noisy_steps import Ask, release_noisy_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import Block, digest
from fedtext.params.privacy import Privacy
from fedtext.params.training import DpSgd
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.plan import planned_multiplier
from fedtext.seeding import stream
from fedtext.system.progress import progress
from fedtext.training.dp_losses import TEXTS, UnitLoss
from fedtext.training.federated_averaging import Server, new_server, server_step
from fedtext.training.unit_gradients import UnitGradients

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def steps_of(params: DpSgd, population: int) -> int:
    """How many steps see each of `population` units `params.epochs` times on average: public."""
    return max(1, math.ceil(params.epochs * population / params.batch_size))


def planned_query(name: str, params: DpSgd, privacy: Privacy, population: int, *, dim: int) -> Query:
    """The one release of a training of `dim` weights: all its steps, at the noise that the budget pays for.

    Raises:
        ValueError: more units are expected in a batch than there are, or the run declares draws of its own.
    """
    steps = steps_of(params, population)
    noise = planned_multiplier(privacy, population, steps, batch=params.batch_size)
    return Query(name, 0, dim, params.clip_norm, noise, batch=params.batch_size, steps=steps)


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
    told: str,
) -> tuple[Server, Ledger]:
    """The trained weights of `model` after DP-SGD, with the optimiser's memory, and the ledger that paid.

    Trained are those that require gradients, from `start` on. `samples.features` are examples of the `loss`, as
    `UnitGradients.of` takes them. `told` is all that is public of the training beside its weights, as parameters, model
    and what it was tuned to: with the weights it names the draws. The same call gives the same bytes.

    Raises:
        BudgetExceeded: the ledger or the gate refuses; nothing has been read.
        ValueError: what `fedtext.federation.noisy_steps.release_noisy_steps` refuses.
    """
    gradients = UnitGradients(model, params.units_at_once, loss=loss)

    def training(ask: Ask) -> Server:
        server = new_server(start, params.optimizer)
        for _ in progress(range(query.steps), "DP-SGD", unit="step"):
            weights = server["weights"]
            noised = ask(partial(_gradients, gradients, weights), digest(weights))
            server = server_step(server, -noised / params.batch_size, params.optimizer)
        return server

    return release_noisy_steps(query.about("", told), training, samples, ledger, key)


def trained_unprotected(
    model: PreTrainedModel,
    start: Float[np.ndarray, " dim"],
    samples: PrivateSamples,
    params: DpSgd,
    loss: UnitLoss = TEXTS,
    *,
    seed: int,
) -> Server:
    """The same training of the units that hold samples, drawn by a public seed, with neither clip nor noise.

    A bound, and no release: it protects nobody, so whoever calls it enters that in the ledger.
    """
    gradients, units = UnitGradients(model, params.units_at_once, loss=loss), np.unique(samples.unit)
    server, random = new_server(start, params.optimizer), stream(seed, "unprotected draws")
    for _ in progress(range(steps_of(params, len(units))), "SGD without protection", unit="step"):
        drawn = samples.of_units(units[random.random(len(units)) < params.batch_size / len(units)])
        total = np.zeros(start.size)
        for block in _gradients(gradients, server["weights"], drawn):
            total += block.rows.sum(axis=0, dtype=np.float64)
        server = server_step(server, -total / params.batch_size, params.optimizer)
    return server


def _gradients(gradients: UnitGradients, weights: Float[np.ndarray, " dim"], held: PrivateSamples) -> Iterator[Block]:
    """What the units of these samples answer."""
    return gradients.of(weights, held.features, held.unit)
