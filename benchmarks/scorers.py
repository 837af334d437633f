"""Linear scorers of preference pairs for comparison: judged by a drawn head or the mixture, or fitted without noise.

Head k gives a difference d = phi(chosen) - phi(rejected) the score theta_k . d.

- *drawn*: a head is drawn by the mixture, and its sign decides; the accuracy is the mean over heads, sum_k p_k
  1[theta_k . d > 0], with nothing drawn here.
- *mixed*: the pair is won with probability sum_k p_k sigmoid(theta_k . d), and one half decides.

Heads meet all pairs alike: no function here takes a cluster (`fedtext.evaluation.pairwise` says why).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fedtext.evaluation.pairwise import Right, correctly_ordered, mixture_margin
from fedtext.system.errors import InputError
from fedtext.training.bradley_terry import descents

Heads = Float[np.ndarray, "head dim"]
Differences = Float[np.ndarray, "pair dim"]


def by_drawn_head(heads: Heads, mixture: Float[np.ndarray, " head"], differences: Differences) -> Right:
    """Return for each pair the probability that a sampled head orders it correctly.

    Raises:
        ValueError: the mixture is not one of these heads.
    """
    _validate_mixture(heads, mixture)
    return np.asarray(correctly_ordered(differences @ heads.T) @ mixture)


def by_mixture(heads: Heads, mixture: Float[np.ndarray, " head"], differences: Differences) -> Right:
    """Return whether the mixture's win probability orders each pair correctly: 1, 1/2 or 0.

    Raises:
        ValueError: the mixture is not one of these heads.
    """
    _validate_mixture(heads, mixture)
    return correctly_ordered(mixture_margin(differences @ heads.T, mixture))


def fitted(
    differences: Float[np.ndarray, "pair dim"], *, steps: int, learning_rate: float
) -> Float[np.ndarray, "1 dim"]:
    """Fit one head by full gradient steps without noise, from zero: on public pairs, or as a non-private bound.

    A head of private pairs is not private: it must not be published.
    """
    heads, only = np.zeros((1, differences.shape[1])), np.zeros(len(differences), dtype=np.int64)
    for _ in range(steps):
        heads = heads + learning_rate * descents(heads, differences, only).mean(axis=0, keepdims=True)
    return np.asarray(heads)


def _validate_mixture(heads: Heads, mixture: Float[np.ndarray, " head"]) -> None:
    if len(heads) != len(mixture) or (mixture < 0).any() or not np.isclose(mixture.sum(), 1.0):
        raise InputError(
            f"a mixture of {len(mixture)} shares that sum to {mixture.sum():g} for {len(heads)} heads: give each head "
            "its share, none below 0, 1 in all",
            code="mixture-is-no-distribution",
        )
