"""Parameters of DP-SGD and generation: a generator fine-tuned on the private texts, which then generates."""

from __future__ import annotations

from pydantic import Field

from fedtext.params import Seed
from fedtext.params.generation import Sampler
from fedtext.params.task import OfClasses
from fedtext.params.training import DpSgd, Lora


class DpSgdGeneration(OfClasses):
    """The generator's adapter is trained by DP-SGD on texts after their class label, then generates all classes alike.

    `labels` are the classes, declared, never read from private data; samples of other classes contribute nothing.
    Without labels all texts have one unnamed class.
    """

    group = "dp_sgd_generation"

    labels: tuple[str, ...]
    training: DpSgd
    lora: Lora
    synthetic_texts: int = Field(ge=1)
    final_responses: int = Field(ge=1)
    sampler: Sampler
    seed: Seed
