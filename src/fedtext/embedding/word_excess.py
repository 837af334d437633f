"""How much more often words stand in private text than in written text, told from the release (ours).

The release has the private texts' mean of signed, hashed words (`fedtext.embedding.words`) under noise. What it is
above the same mean of written texts is due to words that are too rare in those. A bucket does not say which of its
words they are, so all of them share it in proportion to how often they are written: each is wanted as many times as
often. How much of what is missing is believed is a posterior mean: of a normal error as large as that of most buckets,
and a normal prior of the words' excess. So noise alone favours next to nothing. All of that is post-processing of the
release and costs no privacy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from fedtext.embedding.words import beginning_with, bucket_features, gram_counts, gram_places, word_grams
from fedtext.models.word_weights import WordWeights

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
