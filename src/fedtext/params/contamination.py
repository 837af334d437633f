"""The contamination test: a model, its cutoff date, and the records of a snapshot that it may have read."""

from __future__ import annotations

import datetime
from typing import Literal

from pydantic import Field, field_validator

from fedtext.params import Parameters, Seed


class Contamination(Parameters):
    """A snapshot, the last day of a model's training data, and the test of a catalogued model on its texts.

    `config` None: all configs. At most `texts` records on each side of `cutoff` are tested, of those with at least
    twice `words` words: the model sees the first `words`, and its continuation is compared with the next ones. A run of
    `ngram` words, in the right place or another, counts as memorised.
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
