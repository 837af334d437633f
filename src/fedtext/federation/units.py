"""Protected units: their codes, how many there are, and the rows that they contribute.

- Codes of protected units: numbers that depend on the unit itself, never on who else is there.
- A name for public arrays, and for sums that noise is bound to.
- What units hand to a door: rows of numbers, each with the code of the unit whose row it is.

How many units there are: declared by a number or a list of ids, silent ones included.

A number that is read from private data moves when a client comes or goes. A declared one does not; rates, denominators
and the report are made of it. Only a corpus that is public is counted.
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
    """A 63-bit digest of every client id: where a rank would move with every client that comes or goes, this stays."""
    known = {one: derived_seed(0, "unit", one) for one in set(ids)}
    return np.asarray([known[one] for one in ids], dtype=np.int64)


def record_codes(
    ids: Sequence[str], texts: Sequence[str], labels: Sequence[str | None]
) -> Int64[np.ndarray, " record"]:
    """A code of every record as a unit of its own: of what is in it, and which of its client's equal ones it is.

    Not of its place: a record that goes leaves every other one its code. So all that a message may depend on is in it.
    Equal texts of one client under two labels would otherwise be numbered, and the second one's number would move.
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


def silent_codes(count: int) -> Int64[np.ndarray, " silent"]:
    """Codes of enrolled units of whom nothing but their number is known."""
    return np.asarray([derived_seed(0, "silent unit", number) for number in range(count)], dtype=np.int64)


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


def digest(*arrays: Shaped[np.ndarray, " ..."]) -> str:
    """SHA-256 over shape, type and bytes of each array, in order."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(f"{array.shape} {array.dtype.str};".encode())
        state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)  # no copy: embeddings are large
    return state.hexdigest()


class Block(NamedTuple):
    """Contributions of some units, at most one row each.

    Attributes:
        unit: Codes of the units (`fedtext.federation.private_samples.unit_codes`); no unit comes twice in a release.
        rows: Their contributions, not yet clipped.
    """

    unit: Int64[np.ndarray, " unit"]
    rows: Float[np.ndarray, "unit dim"]
