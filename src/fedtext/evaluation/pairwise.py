"""Whether a scorer orders pairs that it has not seen as their annotators did, beside what length alone would do.

A scorer is one or several linear heads with a mixture, as released: head k gives a difference d = phi(chosen) -
phi(rejected) the score theta_k . d. It is judged in the two ways in which it may be used:

- *drawn*: a head is drawn by the mixture, and its sign decides; the accuracy is the mean over heads, sum_k p_k
  1[theta_k . d > 0], with nothing drawn here.
- *mixed*: the pair is won with probability sum_k p_k sigmoid(theta_k . d), and one half decides.

Never by the head of the pair's own cluster: to find that cluster, the difference is taken in the order of the label, so
the cluster tells the label. Coin-flip labels are then "ordered rightly" in 81 to 99.7% (issue 22). So heads meet all
pairs alike, and no function here takes a cluster.

A tie counts one half, as a coin would. Answers by length, `longer` and `shorter`, belong into every table: they read
no private pair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from fedtext.system.errors import InputError

Heads = Float[np.ndarray, "head dim"]
Differences = Float[np.ndarray, "pair dim"]
Right = Float[np.ndarray, " pair"]


def rightly_ordered(margins: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """1 where the chosen answer is ahead (margin above 0), 1/2 where there is no telling, 0 where it is behind."""
    return np.asarray((np.sign(margins) + 1.0) / 2)


def by_drawn_head(heads: Heads, mixture: Float[np.ndarray, " head"], differences: Differences) -> Right:
    """Share of the draws of a head that order each pair rightly.

    Raises:
        ValueError: the mixture is not one of these heads.
    """
    _refuse_other_mixture(heads, mixture)
    return np.asarray(rightly_ordered(differences @ heads.T) @ mixture)


def by_mixture(heads: Heads, mixture: Float[np.ndarray, " head"], differences: Differences) -> Right:
    """Whether the mixture's win probability orders each pair rightly: 1, 1/2 or 0.

    Raises:
        ValueError: the mixture is not one of these heads.
    """
    _refuse_other_mixture(heads, mixture)
    return rightly_ordered(mixed_margin(differences @ heads.T, mixture))


def mixed_margin(
    margins: Float[np.ndarray, "pair head"], mixture: Float[np.ndarray, " head"]
) -> Float[np.ndarray, " pair"]:
    """The mixture's win probability less one half, by every head's margin; odd to the bit, so a tie is 0."""
    return np.asarray(np.tanh(margins / 2) / 2 @ mixture)


def by_length(chosen: Sequence[str], rejected: Sequence[str]) -> dict[str, Right]:
    """What the longer and the shorter answer, in characters, would have got right: `longer`, `shorter`."""
    longer = np.array([len(one) - len(other) for one, other in zip(chosen, rejected, strict=True)], dtype=np.float64)
    return {"longer": rightly_ordered(longer), "shorter": rightly_ordered(-longer)}


def _refuse_other_mixture(heads: Heads, mixture: Float[np.ndarray, " head"]) -> None:
    if len(heads) != len(mixture) or (mixture < 0).any() or not np.isclose(mixture.sum(), 1.0):
        raise InputError(
            f"a mixture of {len(mixture)} shares that sum to {mixture.sum():g} for {len(heads)} heads: give each head "
            "its share, none below 0, 1 in all"
        )
