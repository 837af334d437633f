"""A silo's own training: DP-SGD beside its text, of which the weights alone leave, once they are paid for.

What was trained for a message is kept, and sent again when the same message comes again. So a repeated round costs
neither budget nor time, and arithmetic that differs in its last bits makes no second release.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from fedtext.federation.inquiry import Inquiry
from fedtext.federation.mechanism import planned_release
from fedtext.federation.noisy_steps import release_noisy_steps
from fedtext.federation.query import Query
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.noise import NoiseKey
from fedtext.silo.local_data import LocalData
from fedtext.silo.rehearsal import validate_trainable
from fedtext.silo.settings import Silo
from fedtext.system.errors import InputError
from fedtext.system.folders import make_own_folder, own_file
from fedtext.training.asked_of_silos import LocalTraining

KEPT = "trained"
NAME = "weights"
Weights = Float32[np.ndarray, " dim"]


@dataclass(frozen=True)
class Trainings:
    """What a silo needs to train: its declaration, its secret, and a folder for what it trained."""

    silo: Silo
    key: NoiseKey
    folder: Path

    def validate_asked(self, inquiry: Inquiry) -> None:
        """Raise ValueError if the silo does not train what it is asked to; it tells public values alone."""
        training, own = inquiry.question, self.silo.models.generator
        trains = isinstance(training, LocalTraining)
        if trains != inquiry.query.own or (trains and inquiry.secure is not None):
            raise InputError(
                f"{inquiry.query.name} is a training that is asked of all, or a sum that is asked of one: install the "
                "same version of fedtext at both ends",
                code="training-of-another-kind",
                value=inquiry.query.name,
            )
        if isinstance(training, LocalTraining) and training.generator != own:
            has = "trains no generator" if own is None else f"trains {own}"
            raise InputError(
                f"silo {self.silo.name} {has} (models.generator in its file), and {training.generator} is to be "
                "trained: let other silos train (silos.strong), or have the people there agree to it",
                code="silo-does-not-train",
                parameter="silos.strong",
                value=training.generator,
            )

    def releases(self, query: Query, training: LocalTraining, ledger: Ledger) -> list[Release]:
        """Return the releases of all rounds that are still to come."""
        rounds = range(query.round, query.round + training.rounds)
        return [planned_release(replace(query, round=one), ledger.declaration, ledger.population) for one in rounds]

    def trained(self, query: Query, training: LocalTraining, held: LocalData, ledger: Ledger, asked: str) -> Weights:
        """Train one round and charge it, and keep its weights for the message of digest `asked`.

        Raises:
            BudgetExceeded: the silo's budget does not pay for the round.
            ValueError: the training fails whatever text there is.
        """
        from safetensors.numpy import save_file

        weights, kept = self._new(query, training, held, ledger), self._kept(asked)
        make_own_folder(kept.parent)
        with own_file(kept) as temporary:
            save_file({NAME: weights}, temporary)
        return weights

    def kept(self, asked: str) -> Weights:
        """Return the weights that were trained for the message of digest `asked`."""
        from safetensors.numpy import load_file

        return np.asarray(load_file(self._kept(asked))[NAME])

    def is_kept(self, asked: str) -> bool:
        """Return whether the message of digest `asked` was answered before."""
        return self._kept(asked).exists()

    def _kept(self, asked: str) -> Path:
        return self.folder / KEPT / f"{asked}.safetensors"

    def _new(self, query: Query, training: LocalTraining, held: LocalData, ledger: Ledger) -> Weights:
        from fedtext.generation.generators.local import LocalGenerator

        generator = LocalGenerator(training.generator)
        validate_trainable(training, generator, query, held.length)
        samples = held.rows_of(lambda texts, labels: training.rows(generator, texts, labels, held.length))
        trained, _ = release_noisy_steps(query, lambda ask: training.weights(generator, ask), samples, ledger, self.key)
        return np.asarray(trained, dtype=np.float32)
