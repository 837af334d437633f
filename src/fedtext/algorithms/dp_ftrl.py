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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int64

from fedtext.federation.correlated_sum import CorrelatedRound, correlated_sum, planned_run
from fedtext.federation.mechanism import noise_widening, summed_stddev
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
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
from fedtext.system.errors import InputError
from fedtext.training.federated_training import Server, public_inputs, round_updates

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def chosen_factorisation(params: DpFtrl) -> Factorisation:
    """Return the declared factorisation of the noise; the workload is the server's descent, with its momentum."""
    workload, separation = prefix_sums(params.rounds, params.momentum), params.separation
    if params.noise == "independent":
        return independent(workload, separation=separation)
    if params.noise == "banded":
        return on_weight_grid(banded_factor(workload, params.diagonals), workload, separation=separation)
    return tree(workload, separation=separation, restart=params.restart, honaker=params.noise == "honaker_tree")


@dataclass(frozen=True, eq=False)
class FollowTheRegularizedLeader:
    """DP-FTRL with its parameters (a `FederatedTraining`): all rounds are one release, with correlated noise.

    Attributes:
        params: The run's parameters.
        factorisation: W = B C, which correlates the noise. The server keeps the rows released so far as `released`.
    """

    params: DpFtrl
    factorisation: Factorisation

    @classmethod
    def restored(cls, params: DpFtrl, saved: Mapping[str, np.ndarray]) -> FollowTheRegularizedLeader:
        """Rebuild the factorisation from saved `weights` and `weight_step`: another machine's optimum could differ."""
        workload = prefix_sums(params.rounds, params.momentum)
        return cls(params, Factorisation(saved["weights"], float(saved["weight_step"]), workload, params.separation))

    def planned_query(self, privacy: Privacy, population: int, *, dim: int, round_number: int) -> Query:
        """Plan a round's query; all rounds of a run are one Gaussian release, charged once.

        A declared `privacy.noise_multiplier` is, as the papers print it, the deviation of one released sum over the
        clip norm; without one it is calibrated to the budget.
        """
        multiplier = planned_multiplier(privacy, population, releases=1)
        if privacy.noise_multiplier is not None:
            multiplier /= self.factorisation.sensitivity
        return Query("dp_ftrl.weighted_sums", round_number, dim, self.params.clip_norm, multiplier)

    def planned_ledger(self, population: int, privacy: Privacy, *, dim: int) -> Ledger:
        """Return an empty ledger for the one release of all rounds."""
        if self.params.separation > population:
            raise InputError(
                f"dp_ftrl.separation is {self.params.separation} with {population} {privacy.unit}s: some rounds would "
                f"have none; lower it to at most {population}",
                code="separation-above-population",
                parameter="dp_ftrl.separation",
                value=self.params.separation,
            )
        query = self.planned_query(privacy, population, dim=dim, round_number=1)
        run = planned_run(query, self.factorisation, privacy, population)
        ledger = open_ledger(privacy, population, [run.release])
        return ledger.model_copy(update={"signals": (self._planned_signal(query, privacy, population),)})

    def _planned_signal(self, query: Query, privacy: Privacy, population: int) -> Signal:
        """Compute signal and noise of the trained model: of the last row of W X + B Z, as that of equal steps.

        The most that the rounds' clients can say in it is the sum of the row's weights; its noise is that of B's row.
        """
        factorisation = self.factorisation
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

    def first_server(self, weights: Float[np.ndarray, " dim"]) -> Server:
        """Return the server with these weights and nothing released."""
        return {"weights": weights, "released": np.empty((0, weights.size), dtype=np.float32)}

    def released_rows(
        self,
        samples: PrivateSamples,
        model: PreTrainedModel,
        server: Server,
        open_sums: Int64[np.ndarray, "open dim"],
        ledger: Ledger,
        key: NoiseKey,
        round_number: int,
    ) -> CorrelatedRound:
        """Release the rows that the round completes, with noise (Algorithm 1, lines 4-7)."""
        params, weights = self.params, server["weights"]
        query = self.planned_query(ledger.declaration, ledger.population, dim=weights.size, round_number=round_number)
        query = query.about(public_inputs(weights, params.local, params.seed))
        updates = round_updates(model, weights, params.local, params.seed, round_number)
        return correlated_sum(query, self.factorisation, updates, samples, open_sums, ledger, key)

    def next_server(
        self, start: Server, server: Server, rows: Float[np.ndarray, "row dim"], ledger: Ledger, round_number: int
    ) -> Server:
        """Compute the model from its public start and all rows released so far (line 8)."""
        released = np.concatenate([server["released"], rows.astype(np.float32)])
        reading = self.factorisation.decoder[round_number - 1, : len(released)].astype(np.float32)
        moved = self._step(ledger.population) * (reading @ released)
        return {"weights": np.asarray(start["weights"] + moved, dtype=np.float32), "released": released}

    def norms(
        self, start: Server, server: Server, rows: Float[np.ndarray, "row dim"], ledger: Ledger, round_number: int
    ) -> dict[str, float]:
        """Return the model's distance from its start, and the norm of the noise in it."""
        spread = summed_stddev(ledger) * np.linalg.norm(self.factorisation.decoder[round_number - 1])
        first = start["weights"]
        return {
            "update_norm": float(np.linalg.norm(server["weights"] - first)),
            "noise_norm": float(self._step(ledger.population) * spread * np.sqrt(first.size)),
        }

    def participations(self, population: int, privacy: Privacy) -> float:
        """Return in how many rounds a unit's turn comes."""
        return self.factorisation.participations

    def noise_errors(self) -> dict[str, float]:
        """Compute the server's root mean squared error per unit of multiplier x clip norm, for each factorisation."""
        params, workload = self.params, self.factorisation.workload
        others = {
            "independent": independent(workload, separation=params.separation),
            "tree": tree(workload, separation=params.separation, restart=params.restart),
            "honaker_tree": tree(workload, separation=params.separation, restart=params.restart, honaker=True),
        }
        return {name: found.mean_error for name, found in {**others, params.noise: self.factorisation}.items()}

    def _step(self, population: int) -> float:
        """Return how far one unit of summed change moves the model: the server's rate over the clients per round."""
        return self.params.server_learning_rate * self.params.separation / population
