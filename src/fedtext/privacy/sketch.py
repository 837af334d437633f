"""By what a data set is known again: keyed digests of some of its clients and texts, a bottom-k sketch of each.

A unit's digest under the user's key decides whether it is among the `SIZE` that are kept, in every data set alike. So
two data sets of `SIZE` units at most share a digest if they share a unit; of larger ones a part of the shared units is
found. What is kept of a unit is another half of its digest, and what is missing to `SIZE` is filled up by chance.
Without the key a sketch is `SIZE` random numbers, whatever and however many units there are.

An id that may be anybody's (a short number), and a text that many people write (a short one), tell nothing.
"""

from __future__ import annotations

import hashlib
import heapq
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt64

SIZE = 2048
TELLING_TEXT = 24  # characters
TELLING_NUMBER = 7  # digits
_WORD = 8  # bytes of a kept digest


@dataclass(frozen=True)
class Sketch:
    """Kept digests of the clients and of the texts, in the order of their numbers."""

    clients: UInt64[np.ndarray, " client"]
    texts: UInt64[np.ndarray, " text"]

    def shares_units(self, other: Sketch) -> bool:
        """Whether both are of data sets that have a client or a text in common."""
        pairs = ((self.clients, other.clients), (self.texts, other.texts))
        return any(np.intersect1d(mine, theirs).size > 0 for mine, theirs in pairs)

    def to_bytes(self) -> bytes:
        """As `of_bytes` reads it: `SIZE` words each."""
        return self.clients.astype("<u8").tobytes() + self.texts.astype("<u8").tobytes()

    @classmethod
    def of_bytes(cls, kept: bytes) -> Sketch:
        """What `to_bytes` wrote.

        Raises:
            ValueError: it is of another length.
        """
        if len(kept) != 2 * SIZE * _WORD:
            raise ValueError(f"a sketch has {2 * SIZE * _WORD} bytes, not {len(kept)}")
        words = np.frombuffer(kept, dtype="<u8").astype(np.uint64)
        return cls(words[:SIZE], words[SIZE:])


def sketch(clients: Iterable[str], texts: Iterable[str], key: bytes) -> tuple[str, Sketch]:
    """A keyed digest of all of a data set's units, and their sketch.

    Args:
        clients: Ids; those that tell nothing are left out here.
        texts: In any order and spelling of white space and case; those that tell nothing are left out here.
        key: The user's secret.
    """
    ids = _digests((one.strip() for one in clients), "client", key, telling=_is_telling_id)
    words = _digests((" ".join(one.casefold().split()) for one in texts), "text", key, telling=_is_telling_text)
    whole = hashlib.blake2b(b"".join([*sorted(ids), b"|", *sorted(words)]), key=key, digest_size=16)
    return whole.hexdigest(), Sketch(_kept(ids), _kept(words))


def _digests(units: Iterable[str], kind: str, key: bytes, *, telling: Callable[[str], bool]) -> set[bytes]:
    person = kind.encode()
    return {
        hashlib.blake2b(unit.encode(), key=key, digest_size=2 * _WORD, person=person).digest()
        for unit in set(units)
        if telling(unit)
    }


def _kept(digests: set[bytes]) -> UInt64[np.ndarray, " kept"]:
    """The second halves of those whose first are smallest, filled up; sorted, so that their order tells nothing."""
    lowest = [one[_WORD:] for one in heapq.nsmallest(SIZE, digests)]
    filled = b"".join(lowest) + secrets.token_bytes(_WORD * (SIZE - len(lowest)))
    return np.sort(np.frombuffer(filled, dtype="<u8").astype(np.uint64))


def _is_telling_id(one: str) -> bool:
    return bool(one) and not (one.isdigit() and len(one) < TELLING_NUMBER)


def _is_telling_text(one: str) -> bool:
    return len(one) >= TELLING_TEXT
