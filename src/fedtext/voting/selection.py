"""Selection of texts by released values: kernel herding, and resampling. Both are post-processing.

Kernel herding picks the texts whose mean features match a released mean. Resampling draws texts without replacement in
proportion to noisy votes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from fedtext.system.errors import InputError
from fedtext.voting.centring import require_finite

SHARD = 8192  # a shard's Gram matrix is at most 256 MiB


def herd(
    features: Float[np.ndarray, "text dim"], target: Float[np.ndarray, " dim"], count: int
) -> Int[np.ndarray, " kept"]:
    """Select `count` different rows of `features` whose mean greedily approaches `target`; ties go to the lower row.

    Step k takes the row with the largest <phi(x), (k + 1) target - sum of the rows taken>. Pools above 8,192 rows are
    divided into interleaved shards; each shard is herded alone and gives its share.

    Raises:
        ValueError: `count` exceeds the number of rows, or a value is NaN or infinite.
    """
    require_finite("features", features)
    require_finite("target", target[None])
    if count > len(features):
        raise InputError(
            f"asked for {count} texts out of {len(features)}: generate more or ask for fewer",
            code="too-few-texts",
            parameter="count",
            value=count,
        )
    shards = -(-len(features) // SHARD)
    kept = []
    for s in range(shards):
        rows = np.arange(s, len(features), shards)
        share = count // shards + (s < count % shards)  # at most the shard's size, which is divided the same way
        kept.append(rows[_herd_shard(features[rows], target, share)])
    return np.sort(np.concatenate(kept)) if kept else np.zeros(0, dtype=np.int64)


def _herd_shard(
    features: Float[np.ndarray, "text dim"], target: Float[np.ndarray, " dim"], count: int
) -> Int[np.ndarray, " kept"]:
    gram = np.asarray(features, dtype=np.float32) @ np.asarray(features, dtype=np.float32).T
    pull = features @ target
    taken_sum = np.zeros(len(features))
    free = np.ones(len(features), dtype=bool)
    taken = np.empty(count, dtype=np.int64)
    for k in range(count):
        best = int(np.argmax(np.where(free, (k + 1) * pull - taken_sum, -np.inf)))
        taken[k], free[best] = best, False
        taken_sum += gram[best]
    return taken


def resampled(
    scores: Float[np.ndarray, " text"],
    label: Int[np.ndarray, " text"],
    picks: Sequence[int],
    rng: np.random.Generator,
) -> Int[np.ndarray, " pick"]:
    """Sample `picks[c]` different texts of each class c; return their rows, ascending.

    This is Algorithm A.4 of Flexible participation. Texts are sampled one after another, in proportion to the votes of
    those that are left. Negative votes, which noise causes, count as zero. Where fewer texts have a vote than are
    needed, the others are sampled uniformly.

    Args:
        scores: Noisy votes.
        label: Class of each text, from 0.
        picks: How many texts to sample of each class.
        rng: Generator with a public seed.

    Raises:
        ValueError: more texts are needed of a class than it has, or a score is not finite.
    """
    if not np.isfinite(scores).all():
        raise InputError(
            "a vote is NaN or infinite: check the embeddings that the votes were cast with", code="votes-not-finite"
        )
    weight = np.maximum(scores, 0.0)
    # Exponentials divided by weights: each is the smallest with a probability in proportion to its weight, and the
    # same holds for the next one among the rest. So one sort makes all draws.
    drawn = rng.standard_exponential(len(scores))
    turn = np.log(drawn) - np.log(np.where(weight > 0, weight, 1.0))
    order = np.lexsort((turn, weight == 0))
    found = [_first(order[label[order] == c], count, c) for c, count in enumerate(picks)]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _first(own: Int[np.ndarray, " own"], count: int, label: int) -> Int[np.ndarray, " pick"]:
    if count > len(own):
        raise InputError(
            f"{count} texts are to be picked of class {label}, which has {len(own)}: write more, or pick less",
            code="too-few-texts-of-class",
            parameter="count",
            value=count,
        )
    return own[:count]
