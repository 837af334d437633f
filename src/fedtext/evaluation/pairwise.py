"""Pairwise accuracy: how often a scorer orders held-out pairs as their annotators did.

A scorer is one or several linear heads with a mixture, as released. A pair is won with probability sum_k p_k
sigmoid(theta_k . d), d = phi(chosen) - phi(rejected), and counts as correct above one half. The head of the pair's own
cluster is never used: the cluster is computed from the difference in the order of the label, so it reveals the label.
With it, random labels are "ordered correctly" in 81 to 99.7% (issue 22). No function here takes a cluster.

A tie counts one half, as a random choice would. Include the baselines by length, `longer` and `shorter`, in every
table: they read no private pair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

Right = Float[np.ndarray, " pair"]


def correctly_ordered(margins: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return 1 where the chosen answer scores higher (margin above 0), 1/2 at a tie, 0 where it scores lower."""
    return np.asarray((np.sign(margins) + 1.0) / 2)


def mixture_margin(
    margins: Float[np.ndarray, "pair head"], mixture: Float[np.ndarray, " head"]
) -> Float[np.ndarray, " pair"]:
    """Return the mixture's win probability less one half, from every head's margin; exactly odd, so that a tie is 0."""
    return np.asarray(np.tanh(margins / 2) / 2 @ mixture)


def length_baselines(chosen: Sequence[str], rejected: Sequence[str]) -> dict[str, Right]:
    """Return the accuracy of choosing the longer or the shorter answer, in characters: `longer`, `shorter`."""
    longer = np.array([len(one) - len(other) for one, other in zip(chosen, rejected, strict=True)], dtype=np.float64)
    return {"longer": correctly_ordered(longer), "shorter": correctly_ordered(-longer)}
