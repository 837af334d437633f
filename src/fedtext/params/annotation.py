"""The simulated annotators whose preferences replace private ones if no file of pairs is named."""

from __future__ import annotations

from pydantic import Field

from fedtext.params import Parameters, Seed
from fedtext.params.generation import Sampler


class Annotation(Parameters):
    """`annotators` people who compare two answers of the generator to each of their questions (corpora.annotators).

    Their rule predicts a choice with probability `accuracy`; how decisive they are is calibrated on the answers to
    `public_questions` public questions.
    """

    annotators: int = Field(ge=2)
    accuracy: float = Field(gt=0.5, lt=1)
    public_questions: int = Field(ge=2)
    sampler: Sampler
    seed: Seed
