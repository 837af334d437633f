"""Parameters of both variants of Private Evolution; published ones: conf/paper/parameters/pe.yml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fedtext.params import Seed
from fedtext.params.generation import MaskFilling, Sampler
from fedtext.params.task import OfClasses
from fedtext.system.errors import InputError


class Pe(OfClasses):
    """One run: `rounds` histograms, each over about `population` candidate texts.

    `form: pre_text` starts from public texts and replaces every survivor by its variations; units are clients (or
    records) and no curator is trusted. `form: aug_pe` starts from the random API, keeps every survivor with its
    variations, and requires `privacy.unit: record` and `privacy.aggregation: trusted`.

    `clip_norm` is the L2 clipping norm of a unit's ballot, the histogram of its samples' votes; each sample votes for
    its `nearest` candidates. `threshold` is H in
    standard deviations of the histogram's noise. `variations` are made of every survivor, and `lookahead` of every
    candidate before the vote (0: the candidate itself is voted on). `length_spread`, in tokens, makes text length
    adaptive: a variation is cut to its parent's length plus Gaussian noise of that deviation.

    `variation`: a text after others like it (`few_shot`), by a masked model (`mask_filling`), on the instruction to
    write a text in other words (`rephrasing`) or to fill in the share `blanks` of its words that are left out
    (`blank_filling`). The instruction names one of `tones`, drawn anew for each parent; none where there are none.

    `labels` are the classes of conditional generation, declared, never read from private data; classes are equally
    large. `final: expansion` prompts the generator with survivors of all rounds until there are `synthetic_texts`;
    `survivors` publishes those of the last round; `accumulated` publishes what the model wrote in all rounds, and once
    more after the last vote, the newest first if there are more than `synthetic_texts`.
    """

    group = "pe"

    form: Literal["pre_text", "aug_pe"]
    rounds: int = Field(ge=1)
    population: int = Field(ge=3)
    labels: tuple[str, ...]
    clip_norm: float = Field(gt=0)
    threshold: float = Field(ge=0)
    selection: Literal["probability", "rank"]
    variation: Literal["few_shot", "mask_filling", "rephrasing", "blank_filling"]
    tones: tuple[str, ...]
    blanks: float = Field(gt=0, le=1)
    nearest: int = Field(ge=1)
    variations: int = Field(ge=1)
    lookahead: int = Field(ge=0)
    length_spread: float | None = Field(ge=0)
    masks: MaskFilling
    final: Literal["expansion", "survivors", "accumulated"]
    synthetic_texts: int = Field(ge=1)
    final_responses: int = Field(ge=1)
    sampler: Sampler
    seed: Seed

    @property
    def keeps_parents(self) -> bool:
        """True if a survivor stays in the population with its variations."""
        return self.form == "aug_pe"

    @property
    def survivors(self) -> int:
        """Number of candidates that survive a round: as many as make the population of the next."""
        return self.population // (self.variations + self.keeps_parents)

    @model_validator(mode="after")
    def _every_class_survives(self) -> Self:
        if self.survivors < len(self.classes):
            raise InputError(
                f"pe.population is {self.population}, which leaves {self.survivors} survivors a round "
                f"for {len(self.classes)} classes: raise it to at least "
                f"{len(self.classes) * (self.variations + self.keeps_parents)}",
                code="too-few-survivors",
                parameter="pe.population",
                value=self.population,
            )
        return self

    @model_validator(mode="after")
    def _lengths_can_change(self) -> Self:
        if self.length_spread is not None and self.variation == "mask_filling":
            raise InputError(
                f"pe.length_spread is {self.length_spread}, but mask filling keeps every text's "
                "length: set it to null, or variation to few_shot",
                code="spread-of-masked-texts",
                parameter="pe.length_spread",
                value=self.length_spread,
            )
        return self
