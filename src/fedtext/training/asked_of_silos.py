"""A round of training that a silo is asked for, as data: it trains beside its text, and its weights alone leave."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, Int, Int32
from pydantic import Field

from fedtext.federation.noisy_steps import NoisyStep
from fedtext.federation.question import Asked
from fedtext.models.generator import TrainableGenerator


class LocalTraining(Asked):
    """Base of all rounds of training that silos are asked for.

    Attributes:
        generator: The public source of the model under the trained weights; the silo must have the same.
        rounds: How many rounds are still to come, this one included: a silo that cannot pay for all begins none.
    """

    generator: str
    rounds: int = Field(ge=1, le=10_000)

    @abstractmethod
    def rows(
        self, generator: TrainableGenerator, texts: Sequence[str], labels: Sequence[str | None], length: int
    ) -> tuple[Int32[np.ndarray, "row position"], Int[np.ndarray, " row"]]:
        """Return texts of at most `length` tokens as the rows that are trained on, and the place of each row's text."""

    @abstractmethod
    def weights(self, generator: TrainableGenerator, ask: NoisyStep) -> Float32[np.ndarray, " dim"]:
        """Train by noisy steps, each of which asks the silo's units once, and return the weights at their end."""
