"""Labelled texts without private data: how they are generated, and the two baselines that consist of them."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from fedtext.params import Parameters, Seed
from fedtext.params.generation import Sampler
from fedtext.system.errors import InputError


class LabelledWriting(Parameters):
    """`oversample` times as many texts as are wanted are generated, `responses` a prompt.

    Texts with fewer than `min_words` words are dropped, and empty ones; the first of the others are kept.
    """

    responses: int = Field(ge=1)
    oversample: float = Field(ge=1)
    min_words: int = Field(ge=1)
    sampler: Sampler


class ZeroShot(Parameters):
    """`texts` texts in all, as many of every generator and class (ZeroGen; round 0 of WASP)."""

    texts: int = Field(ge=2)
    writing: LabelledWriting
    seed: Seed


class Fusegen(Parameters):
    """FuseGen: `rounds` times `texts / rounds` texts, generated first without and then with examples.

    `candidates` texts of a class are candidates for the next round's examples: half of them those on which the
    generators' classifiers agree most, half those on which they agree least. The `shown` of these with the highest
    influence are shown. `penalty` is that of the classifiers, logistic regressions on embeddings.
    """

    texts: int = Field(ge=2)
    rounds: int = Field(ge=1)
    candidates: int = Field(ge=2, multiple_of=2)
    shown: int = Field(ge=1)
    penalty: float = Field(gt=0)
    writing: LabelledWriting
    seed: Seed

    @model_validator(mode="after")
    def _there_is_a_choice(self) -> Self:
        if self.shown > self.candidates:
            raise InputError(
                f"fusegen.shown is {self.shown}, but fusegen.candidates {self.candidates}: show no more than there are",
                code="more-shown-than-candidates",
                parameter="fusegen.shown",
                value=self.shown,
            )
        return self
