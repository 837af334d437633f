"""Near-duplicate clients by MinHash: the share of equal minima estimates how alike two texts' word 5-grams are.

NumPy only, with a public seed, so that anyone gets the same report. Texts are compared by their words, case and
punctuation aside. Candidates share a band of minima; each is then checked against the first client of its bucket, and
those unlike it against the first of their own, so equal formulas said a thousand times cost a thousand comparisons,
not a million.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt32, UInt64

from fedtext.seeding import stream

SHINGLE_WORDS = 5
PERMUTATIONS = 64
BANDS = 16
REPRESENTATIVES = 32  # of a bucket, with which its members are compared
SIGNATURE_BYTES = 4 * PERMUTATIONS
PART_WORDS = 4096  # of a long text, hashed at once
PART_CHARACTERS = 32_768
SEED = 2025  # public, and part of the report's definition

_BASE = 0x9E3779B97F4A7C15 | 1  # odd, so that it has an inverse modulo 2**64
_INVERSE = pow(_BASE, -1, 2**64)
_NOT_WORDS = re.compile(r"[^\w\s]+")
_SPACED = {code: " " for code in range(128) if _NOT_WORDS.fullmatch(chr(code))}  # the same for plain ASCII, faster


class Duplicate(NamedTuple):
    """Client number `client` resembles the earlier `original`; `similarity` estimates their Jaccard similarity."""

    client: int
    original: int
    similarity: float


class MinHash:
    """Signatures of texts under one public family of hash functions."""

    def __init__(self, seed: int = SEED) -> None:
        draw = stream(seed, "near duplicates")
        self._multipliers = draw.integers(1, 2**63, PERMUTATIONS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self._offsets = draw.integers(0, 2**63, PERMUTATIONS, dtype=np.uint64)
        self._powers = np.ones(1, np.uint64)
        self._inverses = np.ones(1, np.uint64)

    def signature(self, text: str) -> UInt32[np.ndarray, " permutation"]:
        """Return the minima of the text's shingle hashes under every permutation; all ones for a text without words."""
        minima = np.full(PERMUTATIONS, np.iinfo(np.uint64).max, np.uint64)
        for part in _parts(_words(text)):
            hashes = self._shingles(part)
            if len(hashes):
                mixed = hashes[:, None] * self._multipliers + self._offsets
                np.minimum(minima, mixed.min(axis=0), out=minima)
        return (minima >> np.uint64(32)).astype(np.uint32)

    def packed(self, text: str) -> bytes:
        """Return the signature as `SIGNATURE_BYTES` bytes, as it travels in a shard."""
        return self.signature(text).astype("<u4").tobytes()

    def _shingles(self, words: str) -> UInt64[np.ndarray, " shingle"]:
        """Return the hashes of all runs of `SHINGLE_WORDS` words, one space apart, by one prefix sum over the bytes.

        A text with fewer words is one run.
        """
        data = np.frombuffer(words.encode(), np.uint8)
        if not len(data):
            return np.zeros(0, np.uint64)
        self._extend(len(data) + 1)
        prefix = np.concatenate([np.zeros(1, np.uint64), np.cumsum((data + np.uint64(1)) * self._powers[: len(data)])])
        gaps = np.flatnonzero(data == ord(" "))
        starts = np.concatenate([[0], gaps + 1])
        ends = np.concatenate([gaps, [len(data)]])
        run = min(SHINGLE_WORDS, len(starts))
        first, last = starts[: len(starts) - run + 1], ends[run - 1 :]
        hashes = (prefix[last] - prefix[first]) * self._inverses[first]
        return _finalised(hashes)

    def _extend(self, length: int) -> None:
        if len(self._powers) < length:
            factor = np.full(2 * length, _BASE, np.uint64)
            factor[0] = 1
            self._powers = np.cumprod(factor)
            factor[1:] = _INVERSE
            self._inverses = np.cumprod(factor)


def _words(text: str) -> str:
    """Return the words of a text without case and punctuation, one space apart."""
    lowered = text.lower()
    spaced = lowered.translate(_SPACED) if lowered.isascii() else _NOT_WORDS.sub(" ", lowered)
    return " ".join(spaced.split())


def _parts(words: str) -> Iterator[str]:
    """Yield the words in parts that a megabyte or two is enough for, each run of `SHINGLE_WORDS` in one of them."""
    if len(words) <= PART_CHARACTERS:
        yield words
        return
    single = words.split(" ")
    step = PART_WORDS - SHINGLE_WORDS + 1
    for first in range(0, max(1, len(single) - SHINGLE_WORDS + 1), step):
        yield " ".join(single[first : first + PART_WORDS])


def _finalised(hashes: UInt64[np.ndarray, " shingle"]) -> UInt64[np.ndarray, " shingle"]:
    """Spread the bits of hashes, for a polynomial's low bits depend on few bytes."""
    hashes = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    spread: np.ndarray = hashes ^ (hashes >> np.uint64(33))
    return spread


def unpacked(signatures: bytes | bytearray) -> UInt32[np.ndarray, "client permutation"]:
    """Return packed signatures, one after the other, as a table."""
    return np.frombuffer(signatures, "<u4").reshape(-1, PERMUTATIONS)


def near_duplicates(signatures: UInt32[np.ndarray, "client permutation"], similarity: float) -> list[Duplicate]:
    """Return the clients whose signature agrees with an earlier one in a share `similarity` of its places, in order."""
    originals = np.full(len(signatures), -1, np.int32)  # of the best so far, and how alike: many texts may have one
    shares = np.zeros(len(signatures), np.float32)
    rows = PERMUTATIONS // BANDS
    for band in range(BANDS):
        for bucket in _buckets(np.ascontiguousarray(signatures[:, band * rows : (band + 1) * rows])):
            for found in _pairs(signatures, bucket, similarity):
                known = (-float(shares[found.client]), int(originals[found.client]))
                if known[1] < 0 or (-found.similarity, found.original) < known:
                    originals[found.client], shares[found.client] = found.original, found.similarity
    clients = np.flatnonzero(originals >= 0).tolist()
    return [Duplicate(client, int(originals[client]), float(shares[client])) for client in clients]


def _pairs(
    signatures: UInt32[np.ndarray, "client permutation"], bucket: np.ndarray, similarity: float
) -> Iterator[Duplicate]:
    """Yield members of a bucket with the earlier one they resemble: its first, or the first of those unlike it."""
    for _ in range(REPRESENTATIVES):
        if len(bucket) < 2:
            return
        original, rest = int(bucket[0]), bucket[1:]
        shares = (signatures[rest] == signatures[original]).mean(axis=1)
        alike = shares >= similarity
        for client, share in zip(rest[alike].tolist(), shares[alike].tolist(), strict=True):
            yield Duplicate(client, original, share)
        bucket = rest[~alike]


def firsts_of_clusters(found: Iterable[Duplicate]) -> dict[int, int]:
    """Map each client that resembles another to the first of its cluster; clusters are chains of resemblances."""
    parents: dict[int, int] = {}

    def root(client: int) -> int:
        while (parent := parents.get(client, client)) != client:
            client = parent
        return client

    for duplicate in found:
        low, high = sorted((root(duplicate.client), root(duplicate.original)))
        parents[high] = low
    return {client: root(client) for client in parents if root(client) != client}


def _buckets(keys: UInt32[np.ndarray, "client row"]) -> Iterator[np.ndarray]:
    """Yield groups of two or more clients with equal keys, each in client order."""
    if not len(keys):
        return
    order = np.lexsort(keys.T[::-1])
    changes = (keys[order][1:] != keys[order][:-1]).any(axis=1)
    edges = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(order)]])
    shared = np.flatnonzero(np.diff(edges) > 1)  # most clients are alone in theirs
    for group in shared:
        yield np.sort(order[edges[group] : edges[group + 1]])
