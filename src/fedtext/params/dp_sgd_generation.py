"""Parameters of DP-SGD and generation: a generator fine-tuned on the private texts, which then writes."""

from __future__ import annotations

from pydantic import Field, field_validator

from fedtext.params import Parameters, Seed, each_once, words
from fedtext.params.generation import Sampler
from fedtext.params.training import DpSgd, Lora


class DpSgdGeneration(Parameters):
    """The generator's adapter is trained by DP-SGD on texts behind their class, then writes equally many of each.

    `labels` are the classes, declared, never read from private data; samples of other classes contribute nothing. None
    are declared: all texts are of one nameless class.
    """

    labels: tuple[str, ...]
    training: DpSgd
    lora: Lora
    synthetic_texts: int = Field(ge=1)
    final_responses: int = Field(ge=1)
    sampler: Sampler
    seed: Seed

    _words = field_validator("labels", mode="before")(words)

    @field_validator("labels")
    @classmethod
    def _each_class_once(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        return each_once(labels, "dp_sgd_generation.labels")

    @property
    def classes(self) -> tuple[str | None, ...]:
        """The declared labels, or one nameless class."""
        return self.labels or (None,)
