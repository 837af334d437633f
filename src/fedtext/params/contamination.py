"""Whether a model has read the records of a snapshot: which are newer than its training data, and what a test takes."""

from __future__ import annotations

import datetime
from typing import Literal

from pydantic import Field, field_validator

from fedtext.params import Parameters, Seed


class Contamination(Parameters):
    """A snapshot, the last day of a model's training data, and the test of a model of the catalog on its texts.

    `config` None: all of them. Of each side of `cutoff` at most `texts` records are tested, of those with at least
    twice `words` words: the first `words` of them are shown, the next are what the model might remember. A run of
    `ngram` words in the right place or another counts as remembered.
    """

    snapshot: str | None
    config: str | None
    cutoff: datetime.date | None
    model: Literal["generator", "on_device"]
    texts: int = Field(ge=10)
    words: int = Field(ge=8, le=150)
    ngram: int = Field(ge=1, le=8)
    batch_size: int = Field(ge=1)
    seed: Seed

    @field_validator("snapshot", mode="before")
    @classmethod
    def _number_as_name(cls, value: object) -> object:
        return str(value) if isinstance(value, int | float) else value  # 2025.1 on the command line is a number
