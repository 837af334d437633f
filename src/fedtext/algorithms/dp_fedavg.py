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

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int64

from fedtext.federation.correlated_sum import CorrelatedRound
from fedtext.federation.mechanism import opened_ledger, summed_stddev
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.params.federated import DpFedavg
from fedtext.params.privacy import Privacy
from fedtext.privacy import plan
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.signal import Training
from fedtext.training.federated_averaging import new_server, server_step
from fedtext.training.federated_training import Server, public_inputs, round_updates

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class FederatedAveraging:
    """DP-FedAvg with its parameters (a `FederatedTraining`): each round releases one sum, with noise of its own."""

    params: DpFedavg

    def planned_query(self, privacy: Privacy, population: int, *, dim: int, round_number: int) -> Query:
        """Plan a round's query: the sampled clients' updates of all `dim` weights."""
        noise = plan.planned_multiplier(privacy, population, self.params.rounds)
        return Query("dp_fedavg.update", round_number, dim, self.params.clip_norm, noise, use=Training())

    def planned_ledger(self, population: int, privacy: Privacy, *, dim: int) -> Ledger:
        """Return an empty ledger for all rounds."""
        rounds = range(1, self.params.rounds + 1)
        queries = [self.planned_query(privacy, population, dim=dim, round_number=t) for t in rounds]
        return opened_ledger(queries, privacy, population)

    def first_server(self, weights: Float[np.ndarray, " dim"]) -> Server:
        """Return the server with these weights and moments of zero."""
        return new_server(weights, self.params.server)

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
        """Release the sum of the sampled units' clipped updates of one round, with noise (Algorithm 1)."""
        params, weights = self.params, server["weights"]
        query = self.planned_query(ledger.declaration, ledger.population, dim=weights.size, round_number=round_number)
        query = query.about(public_inputs(weights, params.local, params.seed), params.model_dump_json())
        updates = round_updates(model, weights, params.local, params.seed, round_number)
        total, charged = release_noisy_sum(query, updates, samples, ledger, key)
        return CorrelatedRound(total[None], open_sums, charged)

    def next_server(
        self, start: Server, server: Server, rows: Float[np.ndarray, "row dim"], ledger: Ledger, round_number: int
    ) -> Server:
        """Apply the mean update to the server."""
        return server_step(server, _mean_update(rows, ledger), self.params.server)

    def norms(
        self, start: Server, server: Server, rows: Float[np.ndarray, "row dim"], ledger: Ledger, round_number: int
    ) -> dict[str, float]:
        """Return the norm of the round's mean update, and that of its noise."""
        update, per_coordinate = _mean_update(rows, ledger), summed_stddev(ledger) / plan.expected_units(ledger)
        return {
            "update_norm": float(np.linalg.norm(update)),
            "noise_norm": float(per_coordinate * np.sqrt(update.size)),
        }

    def participations(self, population: int, privacy: Privacy) -> float:
        """Return how often a unit is sampled, in expectation."""
        return plan.expected_exchanges(privacy, population, self.params.rounds)

    def noise_errors(self) -> dict[str, float]:
        """Return nothing: the noise of a round is independent of that of others."""
        return {}


def _mean_update(rows: Float[np.ndarray, "row dim"], ledger: Ledger) -> Float[np.ndarray, " dim"]:
    """Divide the round's sum by the public expected number of units, and not by the size of the Poisson sample."""
    return np.asarray(rows[0] / plan.expected_units(ledger))
