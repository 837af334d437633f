"""Federated training with DP: what DP-FedAvg and DP-FTRL have in common, and what each of them defines.

In every round clients train the on-device model, noisy sums of their clipped changes are released, and the server moves
the model by what is released so far. With independent noise a round's sum is released in that round: this is the
identity factorisation of correlated noise (fedtext.privacy.matrix_mechanism), which leaves no sum open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
from jaxtyping import Float, Int64

from fedtext.federation.correlated_sum import CorrelatedRound
from fedtext.federation.messages import BlocksOf
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Block, digest
from fedtext.params.federated import LocalTraining
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import derived_seed
from fedtext.training.federated_averaging import client_updates, load_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Server = Mapping[str, np.ndarray]  # `weights` now, and what the server remembers of earlier rounds


class FederatedTraining(Protocol):
    """An algorithm with its parameters: which noisy sums it releases, at which cost, and what the server makes of them.

    Rounds count from 1. `dim` is the number of the model's weights.
    """

    def planned_ledger(self, population: int, privacy: Privacy, *, dim: int) -> Ledger:
        """Return an empty ledger for `population` units, before any of them trains the model of `dim` weights.

        Raises:
            BudgetExceeded: the run's planned releases would overdraw its budget.
            ValueError: declaration, parameters and population do not fit each other.
        """

    def first_server(self, weights: Float[np.ndarray, " dim"]) -> Server:
        """Return the server before the first round, with these public weights."""

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
        """Train the round's clients, and release the noisy sums that the round completes.

        `samples.features` are rows of tokens, filled up with negative numbers. Units without samples add nothing.

        Raises:
            BudgetExceeded: ledger or budget guard refuse; no private value has been read.
            ValueError: the release function raises it.
        """

    def next_server(
        self, start: Server, server: Server, rows: Float[np.ndarray, "row dim"], ledger: Ledger, round_number: int
    ) -> Server:
        """Return the server after a round, from its start, its last state and the rows released (post-processing)."""

    def norms(
        self, start: Server, server: Server, rows: Float[np.ndarray, "row dim"], ledger: Ledger, round_number: int
    ) -> dict[str, float]:
        """Return two norms after a round, from released and public values: `update_norm` and `noise_norm`.

        `noise_norm` is the expected norm of pure noise: an `update_norm` near it means that the update is mostly noise.
        """

    def participations(self, population: int, privacy: Privacy) -> float:
        """Return how often a unit takes part in the whole run, in expectation."""

    def noise_errors(self) -> dict[str, float]:
        """Return the error that each choice of the noise's correlation would leave; empty where there is no choice."""


def public_inputs(weights: Float[np.ndarray, " dim"], local: LocalTraining, seed: int) -> str:
    """Return the name of what a round's clients are told: the weights that they start from, and how they train."""
    return f"{digest(weights)} {local.model_dump_json()} {seed}"


def round_updates(
    model: PreTrainedModel, weights: Float[np.ndarray, " dim"], local: LocalTraining, seed: int, round_number: int
) -> BlocksOf:
    """Return the function that trains clients from the common weights, on their own samples, by the round's seed."""

    def updates(own: PrivateSamples) -> Iterable[Block]:
        of_round = derived_seed(seed, "round", round_number)
        return client_updates(load_weights(model, weights), own.features, own.unit, local, seed=of_round)

    return updates
