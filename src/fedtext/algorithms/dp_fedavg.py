"""DP-FedAvg (McMahan et al., "Learning Differentially Private Recurrent Language Models", ICLR 2018).

| paper | here | meaning |
|---|---|---|
| theta_t | `server["weights"]` | the common weights at the start of round t |
| K, q | clients of the ledger's population, `Privacy.sampling` and its rate | which clients are sampled |
| w_k, W | 1, the population | every client has the same weight |
| S | `DpFedavg.clip_norm` | `FlatClip` of a client's whole update |
| f_f | the sum over the public expected number qW | the fixed-denominator estimator |
| z | noise multiplier | standard deviation z S of the sum (sigma = z S / qW of the mean) |

What differs from the paper: a client's update is clipped once, at its end, where UserUpdate clips after every batch
(the sensitivity is the same, the local path is not). Noise is an exact discrete Gaussian on a grid, calibrated under
the declared adjacency by privacy loss distributions instead of the moments accountant. The server may keep a momentum
or Adam's moments, which is post-processing. A client's training loss and the share of clipped updates would be private:
neither is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from fedtext.federation.mechanism import opened_ledger, summed_stddev
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Block, digest
from fedtext.params.federated import DpFedavg
from fedtext.params.privacy import Privacy
from fedtext.privacy import plan
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.signal import Training
from fedtext.seeding import derived_seed
from fedtext.training.federated_averaging import client_updates, load_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def planned_query(params: DpFedavg, privacy: Privacy, population: int, *, dim: int, round_number: int) -> Query:
    """Plan a round's query: the sampled clients' updates of all `dim` weights."""
    noise = plan.planned_multiplier(privacy, population, params.rounds)
    return Query("dp_fedavg.update", round_number, dim, params.clip_norm, noise, use=Training())


def planned_ledger(population: int, params: DpFedavg, privacy: Privacy, *, dim: int) -> Ledger:
    """Return an empty ledger for `population` units, before any of them trains the model of `dim` weights.

    Raises:
        BudgetExceeded: the run's planned releases would overdraw its budget.
        ValueError: the declaration is invalid for this population.
    """
    rounds = range(1, params.rounds + 1)
    queries = [planned_query(params, privacy, population, dim=dim, round_number=t) for t in rounds]
    return opened_ledger(queries, privacy, population)


def released_update(
    samples: PrivateSamples,
    model: PreTrainedModel,
    weights: Float[np.ndarray, " dim"],
    params: DpFedavg,
    ledger: Ledger,
    key: NoiseKey,
    round_number: int,
) -> tuple[Float[np.ndarray, " dim"], Ledger]:
    """Release the sampled units' mean clipped update of one round, with noise (Algorithm 1).

    `samples.features` are rows of tokens, filled up with negative numbers. The sum is divided by the public expected
    number of units, and not by the size of the Poisson sample.

    Returns:
        The noisy mean update, and the charged ledger.
    """
    query = planned_query(
        params, ledger.declaration, ledger.population, dim=weights.size, round_number=round_number
    ).about(digest(weights), params.model_dump_json())

    def updates(own: PrivateSamples) -> Iterable[Block]:
        seed = derived_seed(params.seed, "round", round_number)
        return client_updates(load_weights(model, weights), own.features, own.unit, params.local, seed=seed)

    total, charged = release_noisy_sum(query, updates, samples, ledger, key)
    return total / plan.expected_units(ledger), charged


def next_state(state: Mapping[str, Any], update: Float[np.ndarray, " dim"], ledger: Ledger) -> dict[str, Any]:
    """Return the state after a round, from released and public values: the norms of the mean update and of its noise.

    `noise_norm` is the expected norm of pure noise: an `update_norm` near it means that the update is mostly noise.
    """
    per_coordinate = summed_stddev(ledger) / plan.expected_units(ledger)
    return {
        "round": state["round"] + 1,
        "update_norm": float(np.linalg.norm(update)),
        "noise_norm": float(per_coordinate * np.sqrt(update.size)),
    }
