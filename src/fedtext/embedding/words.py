"""Words and pairs of words in texts, and how much more often they stand in private text.

A text as the words and pairs of words that stand in it: what an encoder of meaning leaves out.

An encoder tells what a text is about. How it is put (short or long, as a question, in which turns of phrase) shows in
its words. They are hashed into signed buckets, so no vocabulary has to be known or learned: a public seed makes
everybody's buckets the same, and two texts' product estimates how many words they share (Weinberger et al., Feature
Hashing for Large Scale Multitask Learning, ICML 2009).

A text travels as its list of grams, all of them, which takes a fraction of the room of its buckets. Both are functions
of the text alone, bit for bit.

Scripts that put no space between words (Chinese, Japanese, Thai and their neighbours) are taken by the character, and
their pairs are of characters: to find words in them takes a dictionary.

How much more often words stand in private text than in written text, told from the release (ours).

The release has the private texts' mean of signed, hashed words (`fedtext.embedding.words`) under noise. What it is
above the same mean of written texts is due to words that are too rare in those. A bucket does not say which of its
words they are, so all of them share it in proportion to how often they are written: each is wanted as many times as
often. How much of what is missing is believed is a posterior mean: of a normal error as large as that of most buckets,
and a normal prior of the words' excess. So noise alone favours next to nothing. All of that is post-processing of the
release and costs no privacy.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int64

from fedtext.models.generator import WordWeights

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


SEEN = 3  # texts that a word stands in before it counts as known: of a word seen once a bucket tells next to nothing
MOST = 1.5  # nats: a word becomes at most four and a half times as frequent, or as rare
TYPICAL = 0.7  # by which share of itself a word's frequency differs, before anything is known: a standard deviation
UNSEEN = 0.25  # errors: how often, besides, what was not written may be taken to stand
EXACT = 1e-9  # the least error
WHITE = re.compile(r"\s")
NORMAL = 1.4826  # of a normal distribution's median deviation, to its standard deviation


def word_excess(
    released: Float[np.ndarray, " bucket"], texts: Sequence[str], known: Sequence[str], *, seed: int
) -> WordWeights:
    """Log of how many times as often each known word is to stand, and to begin a text, for `texts` to be as released.

    Where w has the bucket b and the sign s, r is the release, q the mean of the texts' features and Q their mean
    without signs and `UNSEEN` e, it is log(1 + s t^2 Q_b (r_b - q_b) / (t^2 Q_b^2 + e^2)), at most `MOST` either way. t
    is `TYPICAL`, and e the error of r - q, noise included, as its median size over the buckets tells it.

    Args:
        released: Mean features of the private texts' words, of the size that `bucket_features` gives them.
        texts: Written ones, none of them empty.
        known: More texts whose words may be weighed; what stands in fewer than `SEEN` texts of all has no weight.
        seed: That of the release's hash.
    """
    buckets = len(released)
    if not texts:
        return WordWeights()
    written = bucket_features(word_grams(texts, buckets=buckets, seed=seed), buckets).mean(axis=0, dtype=np.float64)
    missing = released - written
    error = max(NORMAL * float(np.median(np.abs(missing))), EXACT)
    there = _unsigned(texts, buckets, seed) + UNSEEN * error
    prior = (TYPICAL * there) ** 2
    share = prior / (prior + error**2) * missing / there
    words = sorted(_seen([*texts, *known]))
    anywhere = _logs(words, share, seed)
    first = _logs([beginning_with(word) for word in words], share, seed)
    return WordWeights(
        {word: log for word, log in zip(words, anywhere, strict=True) if log},
        {word: log for word, log in zip(words, anywhere + first, strict=True) if log},
    )


def _logs(grams: Sequence[str], share: Float[np.ndarray, " bucket"], seed: int) -> Float[np.ndarray, " gram"]:
    bucket, sign = gram_places(grams, buckets=len(share), seed=seed)
    times = 1 + sign * share[bucket]
    logs: np.ndarray = np.log(np.clip(times, np.exp(-MOST), np.exp(MOST)))
    return logs


def _unsigned(texts: Sequence[str], buckets: int, seed: int) -> Float[np.ndarray, " bucket"]:
    """What each bucket's grams would add up to if all signs were plus: mean roots of their counts, rows of norm 1."""
    total = np.zeros(buckets)
    for text in texts:
        counts = gram_counts(text)
        bucket, _ = gram_places(list(counts), buckets=buckets, seed=seed)
        numbers = np.array(list(counts.values()), dtype=np.float64)
        np.add.at(total, bucket, np.sqrt(numbers / max(numbers.sum(), 1)))
    return total / len(texts)


def _seen(texts: Sequence[str]) -> list[str]:
    """Words and marks that stand in enough texts: no pairs of words, and no line's end.

    Private lines may end because they are full, a model's because a paragraph does. More of these would be headings and
    examples where a sentence should go on.
    """
    counts = Counter(gram for text in texts for gram in gram_counts(text) if not WHITE.search(gram))
    return [word for word, count in counts.items() if count >= SEEN]
