"""Pairwise accuracy: whether a scorer orders held-out pairs as their annotators did, beside what length would do.

A scorer is one or several linear heads with a mixture, as released. A pair is won with probability sum_k p_k
sigmoid(theta_k . d), d = phi(chosen) - phi(rejected), and one half decides. It is never judged by the head of the
pair's own cluster: to find that cluster, the difference is taken in the order of the label, so the cluster tells the
label. Coin-flip labels are then "ordered rightly" in 81 to 99.7% (issue 22). No function here takes a cluster.

A tie counts one half, as a coin would. Answers by length, `longer` and `shorter`, belong into every table: they read
no private pair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

Right = Float[np.ndarray, " pair"]


def rightly_ordered(margins: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """1 where the chosen answer is ahead (margin above 0), 1/2 where there is no telling, 0 where it is behind."""
    return np.asarray((np.sign(margins) + 1.0) / 2)


def mixed_margin(
    margins: Float[np.ndarray, "pair head"], mixture: Float[np.ndarray, " head"]
) -> Float[np.ndarray, " pair"]:
    """The mixture's win probability less one half, by every head's margin; odd to the bit, so a tie is 0."""
    return np.asarray(np.tanh(margins / 2) / 2 @ mixture)


def by_length(chosen: Sequence[str], rejected: Sequence[str]) -> dict[str, Right]:
    """What the longer and the shorter answer, in characters, would have got right: `longer`, `shorter`."""
    longer = np.array([len(one) - len(other) for one, other in zip(chosen, rejected, strict=True)], dtype=np.float64)
    return {"longer": rightly_ordered(longer), "shorter": rightly_ordered(-longer)}
