"""A text as the words and pairs of words that stand in it: what an encoder of meaning leaves out.

An encoder tells what a text is about. How it is put (short or long, as a question, in which turns of phrase) shows in
its words. They are hashed into signed buckets, so no vocabulary has to be known or learned: a public seed makes
everybody's buckets the same, and two texts' product estimates how many words they share (Weinberger et al., Feature
Hashing for Large Scale Multitask Learning, ICML 2009).

A text travels as its list of grams, all of them, which takes a fraction of the room of its buckets. Both are functions
of the text alone, bit for bit.

Scripts that put no space between words (Chinese, Japanese, Thai and their neighbours) are taken by the character, and
their pairs are of characters: to find words in them takes a dictionary.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int64

UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"  # Thai, Lao, Tibetan; Burmese; Khmer; Tai
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua980-\ua9df"  # kana, Han; Javanese
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"  # compatible Han; narrow kana; rare Han
)
WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+|[^\w\s]|\n")
START = ""  # before the first word, so that how texts begin is a pair too
NONE = -1.0  # fills a short text's list up


def word_grams(texts: Sequence[str], *, buckets: int, seed: int) -> Float[np.ndarray, "text gram"]:
    """The grams of every text, in its own order: twice the bucket, and one more where the sign is minus.

    As many columns as the longest of the texts has grams. Floats, so that they may stand beside an embedding in one
    matrix; all are whole and below 2^24.

    Args:
        texts: Any; an empty one has no gram.
        buckets: At most 2^23.
        seed: Public. Clients and server must hash alike.
    """
    known: dict[str, int] = {}
    found = [[_bucket(gram, buckets, seed, known) for gram in _grams(text)] for text in texts]
    rows = np.full((len(texts), max(map(len, found), default=0)), NONE, dtype=np.float32)
    for row, codes in zip(rows, found, strict=True):
        row[: len(codes)] = codes
    return rows


def bucket_features(grams: Float[np.ndarray, "text gram"], buckets: int) -> Float[np.ndarray, "text bucket"]:
    """Signed square roots of each bucket's count, rows of norm 1; a row of zeros for a text without grams.

    The root keeps a word that stands in every line from drowning the others.
    """
    counts = np.zeros((len(grams), buckets), dtype=np.float32)
    row, column = np.nonzero(grams != NONE)
    code = grams[row, column].astype(np.int64)
    np.add.at(counts, (row, code >> 1), np.where(code & 1, np.float32(-1), np.float32(1)))
    roots = np.sign(counts) * np.sqrt(np.abs(counts))
    norms = np.sqrt((roots.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    unit: np.ndarray = (roots / np.where(norms > 0, norms, 1.0)).astype(np.float32)
    return unit


def gram_counts(text: str) -> Counter[str]:
    """How often each word, and each pair of successive words with a space between them, stands in a text."""
    return Counter(_grams(text))


def beginning_with(word: str) -> str:
    """The pair that says that a text begins with this word."""
    return f"{START} {word}"


def gram_places(
    grams: Sequence[str], *, buckets: int, seed: int
) -> tuple[Int64[np.ndarray, " gram"], Int64[np.ndarray, " gram"]]:
    """Bucket and sign, 1 or -1, of every gram."""
    known: dict[str, int] = {}
    codes = np.array([_bucket(gram, buckets, seed, known) for gram in grams], dtype=np.int64)
    return codes >> 1, 1 - 2 * (codes & 1)


def _grams(text: str) -> Iterator[str]:
    words = WORD.findall(text.casefold())
    yield from words
    yield from map(" ".join, pairwise([START, *words]))


def _bucket(gram: str, buckets: int, seed: int, known: dict[str, int]) -> int:
    if gram not in known:
        digest = hashlib.blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8, salt=seed.to_bytes(8, "big"))
        number = int.from_bytes(digest.digest(), "big")
        known[gram] = (number >> 1) % buckets * 2 + (number & 1)
    return known[gram]
