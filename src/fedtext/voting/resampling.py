"""Texts drawn without replacement in proportion to noised votes: post-processing of what was released."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from fedtext.system.errors import InputError


def resampled(
    scores: Float[np.ndarray, " text"],
    label: Int[np.ndarray, " text"],
    picks: Sequence[int],
    rng: np.random.Generator,
) -> Int[np.ndarray, " pick"]:
    """Rows of `picks[c]` different texts of each class c, ascending (Flexible participation, Algorithm A.4).

    One after another is drawn in proportion to the votes of those that are left. Noise makes some votes negative: they
    count as none. Where fewer texts have a vote than are to be picked, the others are drawn with equal chances.

    Args:
        scores: Noised votes.
        label: Class of each text, from 0.
        picks: How many of each class.
        rng: A public draw.

    Raises:
        ValueError: more are to be picked of a class than it has, or a score is not finite.
    """
    if not np.isfinite(scores).all():
        raise InputError("a vote is NaN or infinite: check the embeddings that the votes were cast with")
    weight = np.maximum(scores, 0.0)
    # The smallest of exponentials divided by weights is each text's with a chance in proportion to its weight, and so
    # is the next one's among the rest: all draws in one.
    drawn = rng.standard_exponential(len(scores))
    turn = np.log(drawn) - np.log(np.where(weight > 0, weight, 1.0))
    order = np.lexsort((turn, weight == 0))
    found = [_first(order[label[order] == c], count, c) for c, count in enumerate(picks)]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _first(own: Int[np.ndarray, " own"], count: int, label: int) -> Int[np.ndarray, " pick"]:
    if count > len(own):
        raise InputError(
            f"{count} texts are to be picked of class {label}, which has {len(own)}: write more, or pick less"
        )
    return own[:count]
