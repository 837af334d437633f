"""Hashed words and word pairs of texts, and the log-odds of word frequency between a release and written texts.

Features. An encoder represents what a text is about. Its style (its length, questions, turns of phrase) shows in its
words. Words and pairs of successive words ("grams") are hashed into signed buckets (Weinberger et al., Feature Hashing
for Large Scale Multitask Learning, ICML 2009). No vocabulary has to be learned: all clients and the server hash with
one public seed, and the inner product of two texts' features estimates how many words they share. A text is stored as
its list of grams, which takes a fraction of the memory of its buckets. Both are functions of the text alone, bit for
bit.

Scripts that put no space between words (Chinese, Japanese, Thai and related ones) are split into characters, and their
pairs are pairs of characters: word segmentation would need a dictionary.

Word weights (ours). The release holds the noisy mean of the private texts' signed, hashed words. Its excess over the
same mean of written texts is due to words that are too rare in the written texts. A bucket does not tell its words
apart, so the excess is shared among them in proportion to their frequency in the written texts: each word's frequency
is to change by the same factor. The factor is a posterior mean under a normal error, whose size is that of most
buckets, and a normal prior. Noise alone therefore changes almost no weight. Pairs of words are weighed in the same
way. All of this is post-processing of the release and has no privacy cost.
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
START = ""  # stands before the first word, so that a text's beginning is a pair too
NONE = -1.0  # fills up the list of a short text


def word_grams(texts: Sequence[str], *, buckets: int, seed: int) -> Float[np.ndarray, "text gram"]:
    """Hash the grams of every text, in their order: twice the bucket, plus one where the sign is minus.

    The matrix has as many columns as the longest text has grams; shorter rows are filled up with `NONE`. Values are
    floats, so that they can be joined to embeddings in one matrix; all are whole numbers below 2^24.

    Args:
        texts: Any texts; an empty one has no gram.
        buckets: Number of buckets, at most 2^23.
        seed: Public seed of the hash, the same for clients and server.
    """
    known: dict[str, int] = {}
    found = [[_bucket(gram, buckets, seed, known) for gram in _grams(text)] for text in texts]
    rows = np.full((len(texts), max(map(len, found), default=0)), NONE, dtype=np.float32)
    for row, codes in zip(rows, found, strict=True):
        row[: len(codes)] = codes
    return rows


def bucket_features(grams: Float[np.ndarray, "text gram"], buckets: int) -> Float[np.ndarray, "text bucket"]:
    """Compute the signed square root of each bucket's count, in rows of norm 1; a text without grams has zeros.

    The square root keeps a word that occurs in every line from dominating the others.
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
    """Count each word, and each pair of successive words joined by a space, in a text."""
    return Counter(_grams(text))


def beginning_with(word: str) -> str:
    """Return the gram that stands for a text's first word being `word`."""
    return f"{START} {word}"


def gram_places(
    grams: Sequence[str], *, buckets: int, seed: int
) -> tuple[Int64[np.ndarray, " gram"], Int64[np.ndarray, " gram"]]:
    """Return the bucket and the sign, 1 or -1, of every gram."""
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


SEEN = 3  # least number of texts that contain a known word: a bucket says little of a word seen once
MOST = 1.5  # nats: a word becomes at most four and a half times as frequent, or as rare
TYPICAL = 0.7  # prior standard deviation of the relative change of a word's frequency
UNSEEN = 0.25  # in errors: added to every bucket's frequency for words that the written texts lack
EXACT = 1e-9  # smallest error
NORMAL = 1.4826  # ratio of a normal distribution's standard deviation to its median absolute deviation


def word_excess(
    released: Float[np.ndarray, " bucket"], texts: Sequence[str], known: Sequence[str], *, seed: int
) -> WordWeights:
    """Compute the log factor by which each known word's frequency must change to match the release.

    For a word w with bucket b and sign s, the log factor is log(1 + s t^2 Q_b (r_b - q_b) / (t^2 Q_b^2 + e^2)), at most
    `MOST` in absolute value. Here r is the release, q the mean of the texts' features, and Q their mean without signs
    plus `UNSEEN` e. The prior deviation t is `TYPICAL`. The error e of r - q, noise included, is estimated from its
    median absolute value over the buckets.

    Args:
        released: Mean word features of the private texts, on the scale of `bucket_features`.
        texts: Written texts, none of them empty.
        known: Further texts whose words may get a weight; a word in fewer than `SEEN` of all texts gets none.
        seed: Seed of the release's hash.

    Returns:
        Weights in nats of the words anywhere in a text, as its first word, and behind another word.
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
    words, pairs = (sorted(grams) for grams in _seen([*texts, *known]))
    anywhere = _logs(words, share, seed)
    first = _logs([beginning_with(word) for word in words], share, seed)
    return WordWeights(
        {word: log for word, log in zip(words, anywhere, strict=True) if log},
        {word: log for word, log in zip(words, anywhere + first, strict=True) if log},
        _by_previous(pairs, _logs(pairs, share, seed)),
    )


def _by_previous(pairs: Sequence[str], logs: Float[np.ndarray, " gram"]) -> dict[str, dict[str, float]]:
    after: dict[str, dict[str, float]] = {}
    for pair, log in zip(pairs, logs, strict=True):
        previous, word = pair.split(" ")
        if log:
            after.setdefault(previous, {})[word] = log
    return after


def _logs(grams: Sequence[str], share: Float[np.ndarray, " bucket"], seed: int) -> Float[np.ndarray, " gram"]:
    bucket, sign = gram_places(grams, buckets=len(share), seed=seed)
    times = 1 + sign * share[bucket]
    logs: np.ndarray = np.log(np.clip(times, np.exp(-MOST), np.exp(MOST)))
    return logs


def _unsigned(texts: Sequence[str], buckets: int, seed: int) -> Float[np.ndarray, " bucket"]:
    """Compute the mean features without signs: mean square roots of the buckets' counts, rows of norm 1."""
    total = np.zeros(buckets)
    for text in texts:
        counts = gram_counts(text)
        bucket, _ = gram_places(list(counts), buckets=buckets, seed=seed)
        numbers = np.array(list(counts.values()), dtype=np.float64)
        np.add.at(total, bucket, np.sqrt(numbers / max(numbers.sum(), 1)))
    return total / len(texts)


def _seen(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words and punctuation that occur in at least `SEEN` texts, and pairs of them, without line ends.

    Private lines may end because they are full, a model's lines because a paragraph ends. A weight on line ends would
    produce headings and lists where a sentence should go on.
    """
    counts = Counter(gram for text in texts for gram in gram_counts(text) if "\n" not in gram)
    seen = [gram for gram, count in counts.items() if count >= SEEN and not gram.startswith(beginning_with(""))]
    return [gram for gram in seen if " " not in gram], [gram for gram in seen if " " in gram]
