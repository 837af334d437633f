"""Parameters of PE+SFT: supervised fine-tuning of the generator on Private Evolution's best samples."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fedtext.params import Parameters, Seed
from fedtext.params.generation import Sampler
from fedtext.params.training import CausalTraining, Lora


class PeSft(Parameters):
    """`samples` survivors with the most votes are listed in `lists` few-shot lists, on which the generator is trained.

    `shots` are the examples in the prompts of the final set: `survivors`, those samples, or `public`, as POPri's.
    """

    samples: int = Field(ge=6)
    lists: int = Field(ge=1)
    shots: Literal["survivors", "public"]
    training: CausalTraining
    lora: Lora
    synthetic_texts: int = Field(ge=1)
    final_responses: int = Field(ge=1)
    sampler: Sampler
    seed: Seed
