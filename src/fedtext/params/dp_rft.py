"""Parameters of DP-RFT: a generator trained by policy gradient, whose reward are private votes."""

from __future__ import annotations

from pydantic import Field

from fedtext.params import Parameters, Seed
from fedtext.params.generation import Sampler
from fedtext.params.training import CausalTraining, Lora


class DpRft(Parameters):
    """In each of `rounds` the generator writes `responses` texts to each of `prompts` prompts of public text.

    Every private sample votes for the `nearest` of them; a unit's votes are clipped to the L2 norm `clip_norm`. Their
    noisy sum is the reward, less the mean reward of the other texts of the prompt. `training` are the passes over a
    round's texts, in which a token's probability ratio to the writer counts up to 1 plus or minus `ratio_clip`.
    """

    rounds: int = Field(ge=1)
    prompts: int = Field(ge=1)
    responses: int = Field(ge=2)
    nearest: int = Field(ge=1)
    clip_norm: float = Field(gt=0)
    training: CausalTraining
    ratio_clip: float = Field(gt=0, lt=1)
    lora: Lora
    synthetic_texts: int = Field(ge=1)
    final_responses: int = Field(ge=1)
    sampler: Sampler
    seed: Seed
