"""Phase 1 at strong silos in processes of their own: what each is asked in a round, and the rounds of all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from jaxtyping import Float32, Int, Int32

from fedtext.algorithms.flexible.training import (
    TrainsLocally,
    Weights,
    federated_averaging,
    local_weights,
    rows_behind_codes,
    unit_gradients,
)
from fedtext.federation.noisy_steps import NoisyStep
from fedtext.federation.query import Query
from fedtext.federation.silos_asked import Silos
from fedtext.federation.silos_trained import TrainingSilo, train_at_silos
from fedtext.models.generator import TrainableGenerator
from fedtext.params.flexible import Flexible
from fedtext.privacy.ledger import Ledger
from fedtext.seeding import derived_seed
from fedtext.training.asked_of_silos import LocalTraining
from fedtext.training.lora import trainable_model
from fedtext.training.unit_gradients import UnitGradients


class CodedTraining(LocalTraining):
    """A round of a strong silo's DP-SGD on its texts behind their codes (Algorithm A.3).

    Attributes:
        flexible: Parameters of the run.
        common: The weights to start from.
    """

    flexible: Flexible
    common: np.ndarray

    @property
    def classes(self) -> tuple[str, ...]:
        """The declared codes."""
        return self.flexible.labels

    def rows(
        self, generator: TrainableGenerator, texts: Sequence[str], labels: Sequence[str | None], length: int
    ) -> tuple[Int32[np.ndarray, "row position"], Int[np.ndarray, " row"]]:
        """Implement LocalTraining; texts of undeclared codes have no row."""
        return rows_behind_codes(generator, self.flexible, length, texts, labels)

    def weights(self, generator: TrainableGenerator, ask: NoisyStep) -> Float32[np.ndarray, " dim"]:
        """Implement LocalTraining."""
        params = self.flexible.training
        model = trainable_model(generator, self.flexible.lora, seed=derived_seed(self.flexible.seed, "adapter"))
        gradients = UnitGradients(model, params.units_at_once, params.gradients)
        return local_weights(ask, partial(unit_gradients, gradients), self.common, params)


def weights_of_silos(
    silos: Silos,
    queries: Sequence[Query],
    start: Weights,
    source: str,
    params: Flexible,
    ledger: Ledger,
) -> tuple[Weights, Ledger]:
    """Train the common weights in all rounds at the strong silos, one silo after the other, and charge each.

    Args:
        silos: The way to them.
        queries: One per strong silo (`fedtext.algorithms.flexible.plan.dp_sgd_queries`).
        start: The public weights.
        source: The generator's public source.
        params: Parameters of the run.
        ledger: The ledger that is charged.

    Raises:
        BudgetExceeded: ledger or budget guard refuse a silo's steps; nobody was asked.
        RuntimeError: a silo refuses, is missing, or sends what cannot be weights; nothing is released.
    """
    training = params.training

    def trains(silo: TrainingSilo) -> TrainsLocally:
        def trained(common: Weights, number: int) -> Weights:
            left = training.rounds - number + 1
            asked = CodedTraining(generator=source, rounds=left, flexible=params, common=common)
            return silo.trained(asked, number, training.local_steps)

        return trained

    return train_at_silos(
        silos,
        sorted(queries, key=lambda query: query.parties or ()),
        lambda asked: federated_averaging([trains(silo) for silo in asked.values()], start, training),
        ledger,
    )
