"""How many units there are: declared by a number or a list of ids, silent ones included.

A number that is read from private data moves when a client comes or goes. A declared one does not; rates, denominators
and the report are made of it. Only a corpus that is public is counted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Population(BaseModel):
    """Numbers of units: `enrolled` in all, and of these `training` and `test` ones (expected, of a declared number).

    `source` says where they come from: a declared number, a list of ids, or a public corpus that was counted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    enrolled: int = Field(ge=1)
    training: int = Field(ge=1)
    test: int = Field(ge=0)
    source: Literal["declared", "listed", "counted"]

    @classmethod
    def declared(cls, enrolled: int, *, validation_share: float, test_share: float) -> Population:
        """Of a declared number, which the hash of the ids splits by the shares."""
        training = max(round(enrolled * (1 - validation_share - test_share)), 1)
        return cls(enrolled=enrolled, training=training, test=round(enrolled * test_share), source="declared")

    @classmethod
    def of_splits(cls, splits: Collection[str], source: Literal["listed", "counted"]) -> Population:
        """Of the split that each enrolled unit falls into."""
        found = list(splits)
        return cls(enrolled=len(found), training=found.count("train"), test=found.count("test"), source=source)
