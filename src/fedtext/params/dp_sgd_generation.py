"""Parameters of DP-SGD and generation: a generator fine-tuned on the private texts, which then writes."""

from __future__ import annotations

from pydantic import Field

from fedtext.params import Seed
from fedtext.params.generation import Sampler
from fedtext.params.task import OfClasses
from fedtext.params.training import DpSgd, Lora


class DpSgdGeneration(OfClasses):
    """The generator's adapter is trained by DP-SGD on texts behind their class, then writes equally many of each.

    `labels` are the classes, declared, never read from private data; samples of other classes contribute nothing. None
    are declared: all texts are of one nameless class.
    """

    group = "dp_sgd_generation"

    labels: tuple[str, ...]
    training: DpSgd
    lora: Lora
    synthetic_texts: int = Field(ge=1)
    final_responses: int = Field(ge=1)
    sampler: Sampler
    seed: Seed
