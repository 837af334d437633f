"""Silos: the holders of the protected units, which of them are strong, and the budget of each. All of it is public."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from fedtext.params import Parameters, each_once, words

Count = Annotated[int, Field(ge=1)]
Budget = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class Silos(Parameters):
    """The assignment of clients to silos, and the silos that are strong enough to train.

    A client's silo is the value of `corpus.silo_column`; else, with `groups`, one of so many by a hash of the client's
    id; else every client is a silo of its own, which holds records. With one group all clients are in one silo,
    `silo-0`, whatever a column says.

    `strong`: the names of the silos that train, or a share of all silos, the first by name. `strong_codes` is for
    `partition.method: biased`: the strong silos then hold texts of these codes, or of codes with such a part, alone.
    `units` is the number of training units in each silo, unless the corpus is public and may be counted. `budgets` are
    epsilons of single silos below the run's.
    """

    groups: Count | None
    strong: Share | tuple[str, ...]
    strong_codes: tuple[str, ...]
    units: dict[str, Count]
    budgets: dict[str, Budget]

    _words = field_validator("strong_codes", mode="before")(words)

    @field_validator("strong", mode="before")
    @classmethod
    def _names_or_a_share(cls, strong: object) -> object:
        return words(strong) if isinstance(strong, str) else strong

    @field_validator("strong_codes")
    @classmethod
    def _each_code_once(cls, codes: tuple[str, ...]) -> tuple[str, ...]:
        return each_once(codes, "silos.strong_codes")
