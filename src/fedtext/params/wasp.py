"""WASP's parameters; published ones: conf/paper/parameters/wasp.yml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from fedtext.params import Seed
from fedtext.params.generation import Sampler
from fedtext.params.task import OfClasses
from fedtext.system.errors import InputError

MOST_VOTES = 32  # a record's smallest vote is then 2^-31: sums of votes stay exact
LABEL = "{label}"


class Wasp(OfClasses):
    """`texts` texts, written in `rounds` rounds by the models of `models.plms`, judged after each round but the last.

    `votes`: `top_q` are the paper's, one noised ballot a round; `single_release` is ours, one noised sum of embeddings
    a class for all rounds together; `random` reads nothing private, as a control; `none` votes without noise, and
    protects nobody. With `top_q` a record votes for the `votes_per_record` nearest and furthest texts of its class.
    `clip_norm` bounds a unit's whole ballot in L2; null: what one record's ballot has by itself. `model_sums` releases
    the models' votes by themselves, at a tenth of the budget.

    `labels` are the classes, declared, never read from private data; none: one nameless class. Prompts name them:
    `noun` says what a text is, and `about` how a class is named, as "about {label}". `shown` texts of a class are
    called good and as many bad. With `contrast` half of either are shown in a prompt; without, all good ones, and
    nobody votes for the furthest.
    `prompts_per_class` are drawn for a model, class and round.

    `weighting` says what a model's share of the next round follows: its `votes`, their `softmax`, or `uniform`, equal
    shares. No model's share is below `weight_floor` by much.
    """

    group = "wasp"

    rounds: int = Field(ge=2)
    texts: int = Field(ge=1)
    labels: tuple[str, ...]
    noun: str = Field(min_length=1)
    about: str
    votes: Literal["top_q", "single_release", "random", "none"]
    votes_per_record: int = Field(ge=1, le=MOST_VOTES)
    clip_norm: float | None = Field(gt=0)
    model_sums: bool
    shown: int = Field(ge=2)
    contrast: bool
    prompts_per_class: int = Field(ge=1)
    weighting: Literal["votes", "softmax", "uniform"]
    weight_floor: float = Field(ge=0, lt=1)
    sampler: Sampler
    seed: Seed

    @field_validator("about")
    @classmethod
    def _names_the_class(cls, about: str) -> str:
        if LABEL not in about:
            raise InputError(f"wasp.about is {about!r}: it says how a prompt names a class, so put {LABEL} into it")
        return about

    @model_validator(mode="after")
    def _rounds_have_texts(self) -> Self:
        if self.texts < self.rounds * len(self.classes):
            raise InputError(
                f"wasp.texts is {self.texts} for {self.rounds} rounds of {len(self.classes)} classes: ask for at least "
                f"{self.rounds * len(self.classes)}, a text a class and round"
            )
        return self

    @model_validator(mode="after")
    def _sums_are_of_votes(self) -> Self:
        if self.model_sums and self.votes != "top_q":
            raise InputError(
                f"wasp.model_sums is true and wasp.votes {self.votes}: only votes of top_q are added up by model; set "
                "model_sums to false"
            )
        return self

    @property
    def parts(self) -> tuple[str, ...]:
        """What a ballot consists of: far votes only where they are shown, for they cost as much as near ones."""
        return ("near", "far") if self.contrast else ("near",)

    def texts_of_round(self, round_number: int) -> int:
        """How many texts all models together write in a round, from 1; the first rounds write what is left over."""
        return self.texts // self.rounds + (round_number <= self.texts % self.rounds)

    def texts_until(self, round_number: int) -> int:
        """How many there are after a round."""
        return sum(map(self.texts_of_round, range(1, round_number + 1)))
