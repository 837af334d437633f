"""Protected units: their codes, their number, and the rows that they contribute.

A unit's code depends on the unit itself, never on the other units. `digest` names public arrays, and sums that noise is
bound to. A `Block` holds rows of contributions, each with the code of its unit.

The number of units is declared by a number or a list of ids, units without data included. A number that is counted in
private data changes when a client joins or leaves. A declared one does not, so rates, denominators and the report use
it. Only a public corpus is counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int64, Shaped
from pydantic import BaseModel, ConfigDict, Field

from fedtext.seeding import derived_seed


def unit_codes(ids: Sequence[str]) -> Int64[np.ndarray, " id"]:
    """Compute a 63-bit digest of every client id; unlike a rank, it does not change when other clients come or go."""
    known = {one: derived_seed(0, "unit", one) for one in set(ids)}
    return np.asarray([known[one] for one in ids], dtype=np.int64)


def record_codes(
    ids: Sequence[str], texts: Sequence[str], labels: Sequence[str | None]
) -> Int64[np.ndarray, " record"]:
    """Compute a code of every record as a unit of its own, from its content and its number among equal records.

    The code does not depend on the record's position, so removing a record leaves every other code unchanged. It covers
    all that a message may depend on: equal texts of one client under two labels would otherwise be numbered, and
    removing one would change the other's code.
    """
    seen: dict[tuple[str, ...], int] = {}
    codes = np.empty(len(texts), dtype=np.int64)
    for row, (one, text, label) in enumerate(zip(ids, texts, labels, strict=True)):
        held = (one, text) if label is None else (one, text, label)
        seen[held] = seen.get(held, 0) + 1
        # Digests, which hold no separator: no text can be written to have another one's code.
        codes[row] = derived_seed(
            0, "record", *(hashlib.sha256(part.encode()).hexdigest() for part in held), seen[held]
        )
    return codes


def codes_without_text(count: int) -> Int64[np.ndarray, " silent"]:
    """Compute codes of `count` enrolled units of which only the number is known."""
    return np.asarray([derived_seed(0, "silent unit", number) for number in range(count)], dtype=np.int64)


class Population(BaseModel):
    """Numbers of units: `enrolled` in all, and of these `training` and `test` ones (expected, of a declared number).

    `source` is where they come from: a declared number, a list of ids, or a count of a public corpus.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    enrolled: int = Field(ge=1)
    training: int = Field(ge=1)
    test: int = Field(ge=0)
    source: Literal["declared", "listed", "counted"]

    @classmethod
    def declared(cls, enrolled: int, *, validation_share: float, test_share: float) -> Population:
        """Build from a declared number, which the hash of the ids splits by the shares."""
        training = max(round(enrolled * (1 - validation_share - test_share)), 1)
        return cls(enrolled=enrolled, training=training, test=round(enrolled * test_share), source="declared")

    @classmethod
    def of_splits(cls, splits: Collection[str], source: Literal["listed", "counted"]) -> Population:
        """Build from the split of each enrolled unit."""
        found = list(splits)
        return cls(enrolled=len(found), training=found.count("train"), test=found.count("test"), source=source)


def digest(*arrays: Shaped[np.ndarray, " ..."]) -> str:
    """Compute SHA-256 over shape, type and bytes of each array, in order."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(f"{array.shape} {array.dtype.str};".encode())
        state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)  # no copy: embeddings are large
    return state.hexdigest()


class Block(NamedTuple):
    """Contributions of some units, at most one row each.

    Attributes:
        unit: Codes of the units (`unit_codes`, `record_codes`); no unit comes twice in a release.
        rows: Their contributions, not yet clipped.
    """

    unit: Int64[np.ndarray, " unit"]
    rows: Float[np.ndarray, "unit dim"]

    def part(self, first: int, last: int) -> Block:
        """Return the units from the place `first` on, up to the place before `last`."""
        return Block(self.unit[first:last], self.rows[first:last])
