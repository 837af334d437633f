"""Codes of protected units: numbers that depend on the unit itself, never on who else is there."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64

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
