"""WASP's parameters; published ones: conf/paper/parameters/wasp.yml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from fedtext.params import Seed, words
from fedtext.params.generation import Sampler
from fedtext.params.task import OfClasses
from fedtext.system.errors import InputError

MOST_VOTES = 32  # a record's smallest vote is then 2^-31: sums of votes stay exact
LABEL, ATTRIBUTE = "{label}", "{attribute}"


class Wasp(OfClasses):
    """`texts` texts, generated in `rounds` rounds by the models of `models.plms`, with votes after each but the last.

    `votes`: `top_q` are the paper's, one noisy ballot a round; `single_release` is ours, one noisy sum of embeddings a
    class for all rounds together; `random` reads nothing private, as a baseline; `none` votes without noise, and gives
    no protection. With `top_q` a record votes for the `votes_per_record` most similar and most dissimilar texts of its
    class. `clip_norm` is the L2 clipping norm of a unit's whole ballot; null: the norm of one record's ballot.
    `model_sums` releases the models' votes by themselves, at a tenth of the budget.

    `labels` are the classes, declared, never read from private data; none: one unnamed class. Prompts name them: `noun`
    is what a text is, and `about` how a class is named, as "about {label}". `attributes` vary the texts of every class,
    each asked for in turn; `about_attribute` is how one is named, as "by {attribute}". `shown` texts of a class are
    good examples and as many are bad ones. With `contrast` a prompt shows half of either; without, all good ones, and
    there are no votes for the most dissimilar. `prompts_per_class` are sampled for a model, class and round.

    `weighting` is what a model's share of the next round follows: its `votes`, their `softmax`, or `uniform`, equal
    shares. No model's share is below `weight_floor` by much.

    `round_delta` is the paper's delta_iter, of one vote, where `privacy.calibration` is published; null:
    `privacy.delta`, which the paper takes for it.
    """

    group = "wasp"

    rounds: int = Field(ge=2)
    texts: int = Field(ge=1)
    labels: tuple[str, ...]
    noun: str = Field(min_length=1)
    about: str
    attributes: tuple[str, ...]
    about_attribute: str
    votes: Literal["top_q", "single_release", "random", "none"]
    votes_per_record: int = Field(ge=1, le=MOST_VOTES)
    clip_norm: float | None = Field(gt=0)
    model_sums: bool
    shown: int = Field(ge=2)
    contrast: bool
    prompts_per_class: int = Field(ge=1)
    weighting: Literal["votes", "softmax", "uniform"]
    weight_floor: float = Field(ge=0, lt=1)
    round_delta: float | None = Field(gt=0, lt=1)
    sampler: Sampler
    seed: Seed

    _attributes = field_validator("attributes", mode="before")(words)

    @field_validator("about", "about_attribute")
    @classmethod
    def _names_what_it_is_about(cls, about: str, info: ValidationInfo) -> str:
        what, name = ("a class", LABEL) if info.field_name == "about" else ("an attribute", ATTRIBUTE)
        if name not in about:
            raise InputError(
                f"wasp.{info.field_name} is {about!r}: it says how a prompt names {what}, so put {name} into it",
                code="about-without-label",
                parameter=f"wasp.{info.field_name}",
                value=about,
            )
        return about

    @model_validator(mode="after")
    def _rounds_have_texts(self) -> Self:
        if self.texts < self.rounds * len(self.classes):
            raise InputError(
                f"wasp.texts is {self.texts} for {self.rounds} rounds of {len(self.classes)} classes: ask for at least "
                f"{self.rounds * len(self.classes)}, a text a class and round",
                code="too-few-texts",
                parameter="wasp.texts",
                value=self.texts,
            )
        return self

    @model_validator(mode="after")
    def _sums_are_of_votes(self) -> Self:
        if self.model_sums and self.votes != "top_q":
            raise InputError(
                f"wasp.model_sums is true and wasp.votes {self.votes}: only votes of top_q are added up by model; set "
                "model_sums to false",
                code="model-sums-of-other-votes",
                parameter="wasp.model_sums",
                value=True,
            )
        return self

    def attribute_of(self, prompt: int) -> str | None:
        """Return the attribute that a class's prompt with this number asks for; None where there are no attributes."""
        return self.attributes[prompt % len(self.attributes)] if self.attributes else None

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts of a ballot: dissimilar votes only where they are shown, since they cost as much as similar ones."""
        return ("near", "far") if self.contrast else ("near",)

    def texts_of_round(self, round_number: int) -> int:
        """Return how many texts all models generate in a round, counted from 1; the first rounds take the remainder."""
        return self.texts // self.rounds + (round_number <= self.texts % self.rounds)

    def texts_until(self, round_number: int) -> int:
        """Return how many texts there are after a round."""
        return sum(map(self.texts_of_round, range(1, round_number + 1)))
