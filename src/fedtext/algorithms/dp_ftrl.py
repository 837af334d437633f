"""DP-FTRL (Kairouz et al., "Practical and Private (Deep) Learning Without Sampling or Shuffling", ICML 2021).

| paper | here | meaning |
|---|---|---|
| T | `DpFtrl.rounds` | rounds |
| L | `DpFtrl.clip_norm` | clip norm of a client's change of the model |
| sigma | noise multiplier x `Factorisation.sensitivity` | noise deviation of a released sum over the clip norm |
| s_t | row t of B (C X + Z) | noisy sum of all changes up to round t (Algorithm 1, line 7) |
| theta_t | `server["weights"]` | theta_0 + server_learning_rate s_t / (clients per round) (line 8) |
| gamma | `DpFtrl.momentum` | part of the workload: post-processing |

What differs from the paper: by default the noise is correlated by the banded factorisation of least error
(Choquette-Choo et al., NeurIPS 2023); the paper's tree is an option. Noise is an exact discrete Gaussian on a grid. Its
privacy cost is computed for the number and separation of participations that the mechanism enforces. A client's
contribution is what its local epochs add to the model, as in DP-FedAvg.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int64

from fedtext.federation.correlated_sum import CorrelatedRound, correlated_sum, planned_run
from fedtext.federation.mechanism import noise_widening, summed_stddev
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import Block, digest
from fedtext.params.federated import DpFtrl
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger, open_ledger
from fedtext.privacy.matrix_mechanism import (
    Factorisation,
    banded_factor,
    independent,
    on_weight_grid,
    prefix_sums,
    tree,
)
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.plan import planned_multiplier
from fedtext.privacy.signal import Signal
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError
from fedtext.training.federated_averaging import client_updates, load_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Server = Mapping[str, np.ndarray]  # `weights` now, `released`: all rows so far


def chosen_factorisation(params: DpFtrl) -> Factorisation:
    """Return the declared factorisation of the noise; the workload is the server's descent, with its momentum."""
    workload, separation = prefix_sums(params.rounds, params.momentum), params.separation
    if params.noise == "independent":
        return independent(workload, separation=separation)
    if params.noise == "banded":
        return on_weight_grid(banded_factor(workload, params.diagonals), workload, separation=separation)
    return tree(workload, separation=separation, restart=params.restart, honaker=params.noise == "honaker_tree")


def restored(params: DpFtrl, saved: Mapping[str, np.ndarray]) -> Factorisation:
    """Rebuild the factorisation from saved `weights` and `weight_step`: another machine's optimum could differ."""
    workload = prefix_sums(params.rounds, params.momentum)
    return Factorisation(saved["weights"], float(saved["weight_step"]), workload, params.separation)


def planned_query(
    params: DpFtrl, privacy: Privacy, population: int, factorisation: Factorisation, *, dim: int, round_number: int
) -> Query:
    """Plan a round's query; all rounds of a run are one Gaussian release, charged once.

    A declared `privacy.noise_multiplier` is, as the papers print it, the deviation of one released sum over the clip
    norm; without one it is calibrated to the budget.
    """
    multiplier = planned_multiplier(privacy, population, releases=1)
    if privacy.noise_multiplier is not None:
        multiplier /= factorisation.sensitivity
    return Query("dp_ftrl.weighted_sums", round_number, dim, params.clip_norm, multiplier)


def planned_ledger(
    population: int, params: DpFtrl, privacy: Privacy, factorisation: Factorisation, *, dim: int
) -> Ledger:
    """Return an empty ledger for `population` units, before any of them trains the model of `dim` weights.

    Raises:
        BudgetExceeded: the run would overdraw its budget.
        ValueError: declaration, schedule and population do not fit each other.
    """
    if params.separation > population:
        raise InputError(
            f"dp_ftrl.separation is {params.separation} with {population} {privacy.unit}s: some rounds would have "
            f"none; lower it to at most {population}",
            code="separation-above-population",
            parameter="dp_ftrl.separation",
            value=params.separation,
        )
    query = planned_query(params, privacy, population, factorisation, dim=dim, round_number=1)
    ledger = open_ledger(privacy, population, [planned_run(query, factorisation, privacy, population).release])
    signal = planned_signal(query, privacy, population, factorisation)
    return ledger.model_copy(update={"signals": (signal,)})


def planned_signal(query: Query, privacy: Privacy, population: int, factorisation: Factorisation) -> Signal:
    """Compute signal and noise of the trained model: of the last row of W X + B Z, as that of equal steps.

    The most that the rounds' clients can say in it is the sum of the row's weights; its noise is that of B's row.
    """
    rounds = factorisation.rounds
    said = float(factorisation.workload[-1].sum()) / rounds
    spread = float(np.linalg.norm(factorisation.decoder[-1])) / math.sqrt(rounds)
    drawn = query.noise_multiplier * factorisation.sensitivity * noise_widening(privacy)
    return Signal(
        release=query.name,
        use="training",
        unit=privacy.unit,
        population=population,
        asked=population / factorisation.separation,
        numbers=query.dim,
        noise=drawn * spread / said,
        steps=rounds,
    )


def released_rows(
    samples: PrivateSamples,
    model: PreTrainedModel,
    server: Server,
    open_sums: Int64[np.ndarray, "open dim"],
    params: DpFtrl,
    factorisation: Factorisation,
    ledger: Ledger,
    key: NoiseKey,
    round_number: int,
) -> CorrelatedRound:
    """Train this round's clients, and release the rows that the round completes, with noise (Algorithm 1, lines 4-7).

    `samples.features` are rows of tokens, filled up with negative numbers. Units without samples add nothing.

    Raises:
        ValueError: the errors of `enrolled_units` and `correlated_sum`.
    """
    weights = server["weights"]
    query = planned_query(
        params, ledger.declaration, ledger.population, factorisation, dim=weights.size, round_number=round_number
    ).about(digest(weights))

    def updates(own: PrivateSamples) -> Iterable[Block]:
        seed = derived_seed(params.seed, "round", round_number)
        return client_updates(load_weights(model, weights), own.features, own.unit, params.local, seed=seed)

    return correlated_sum(query, factorisation, updates, samples, open_sums, ledger, key)


def next_server(
    start: Float[np.ndarray, " dim"],
    server: Server,
    rows: Float[np.ndarray, "row dim"],
    params: DpFtrl,
    factorisation: Factorisation,
    population: int,
    round_number: int,
) -> dict[str, np.ndarray]:
    """Compute the model from its public start and all rows released so far (line 8; post-processing)."""
    released = np.concatenate([server["released"], rows.astype(np.float32)])
    reading = factorisation.decoder[round_number - 1, : len(released)].astype(np.float32)
    moved = _step(params, population) * (reading @ released)
    return {"weights": np.asarray(start + moved, dtype=np.float32), "released": released}


def next_state(
    start: Float[np.ndarray, " dim"],
    server: Server,
    params: DpFtrl,
    factorisation: Factorisation,
    ledger: Ledger,
    round_number: int,
) -> dict[str, Any]:
    """Return the state after a round, from released and public values: distance from the start, and norm of the noise.

    `noise_norm` is the expected norm of pure noise: an `update_norm` near it means that the update is mostly noise.
    """
    spread = summed_stddev(ledger) * np.linalg.norm(factorisation.decoder[round_number - 1])
    return {
        "round": round_number,
        "update_norm": float(np.linalg.norm(server["weights"] - start)),
        "noise_norm": float(_step(params, ledger.population) * spread * np.sqrt(start.size)),
    }


def noise_comparison(params: DpFtrl, factorisation: Factorisation) -> dict[str, float]:
    """Compute the server's root mean squared error per unit of multiplier x clip norm, for each factorisation."""
    workload, separation = factorisation.workload, params.separation
    others = {
        "independent": independent(workload, separation=separation),
        "tree": tree(workload, separation=separation, restart=params.restart),
        "honaker_tree": tree(workload, separation=separation, restart=params.restart, honaker=True),
    }
    return {name: found.mean_error for name, found in {**others, params.noise: factorisation}.items()}


def _step(params: DpFtrl, population: int) -> float:
    """Return how far one unit of summed change moves the model: the server's rate over the clients per round."""
    return params.server_learning_rate * params.separation / population
