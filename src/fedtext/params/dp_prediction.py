"""Parameters of private prediction: texts written token by token from the mean of groups of clients."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fedtext.params import Parameters, Seed
from fedtext.params.generation import Sampler
from fedtext.system.errors import InputError


class DpPrediction(Parameters):
    """The clients are dealt to groups, as many as write `synthetic_texts` texts at `texts_per_group` each.

    `form`: a client contributes the `difference` that its text makes to the next token's logits (InvisibleInk), or the
    `logits` themselves, without a public prompt (Amin et al., 2024). A client's text counts up to `example_tokens`
    tokens. `clients_at_once` are read side by side. `sampler.max_new_tokens` is the number of tokens that is planned
    and paid for each text. `sampler.min_p` says which tokens may be drawn, from the public prompt alone.
    """

    form: Literal["difference", "logits"]
    synthetic_texts: int = Field(ge=1)
    texts_per_group: int = Field(ge=1)
    example_tokens: int = Field(ge=4)
    clients_at_once: int = Field(ge=1)
    sampler: Sampler
    seed: Seed

    @model_validator(mode="after")
    def _draws_without_a_nucleus(self) -> Self:
        if self.sampler.top_p != 1:
            raise InputError(
                f"dp_prediction.sampler.top_p is {self.sampler.top_p}: min_p limits tokens here; set top_p to 1",
                code="nucleus-not-supported",
                parameter="dp_prediction.sampler.top_p",
                value=self.sampler.top_p,
            )
        for name in ("top_k", "no_repeat_ngram"):
            if (value := getattr(self.sampler, name)) is not None:
                raise InputError(
                    f"dp_prediction.sampler.{name} is {value}: min_p limits tokens here; set {name} to null",
                    code="limit-not-supported",
                    parameter=f"dp_prediction.sampler.{name}",
                    value=value,
                )
        return self
