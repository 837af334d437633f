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

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int

from fedtext.evaluation.ratios import Ratio, clustered_ratio
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


def pairwise_table(
    right: Mapping[str, Right], chosen: Sequence[str], rejected: Sequence[str], unit: Int[np.ndarray, " pair"]
) -> dict[str, Ratio]:
    """The accuracy of every scorer, with `longer` and `shorter` beside them; intervals over whole units.

    Args:
        right: By scorer, how rightly each held-out pair is ordered, 0 to 1.
        chosen: The answers that were chosen.
        rejected: Those that were not.
        unit: Whose pair it is: pairs of one person, or about one prompt, tell together.

    Raises:
        ValueError: no pair, one that is not held out in a scorer's list, or a scorer named like a length.
    """
    if not len(chosen):
        raise InputError("no held-out pairs: a pairwise accuracy needs at least one")
    lengths = by_length(chosen, rejected)
    if taken := sorted(lengths.keys() & right.keys()):
        raise InputError(f"a scorer is named '{taken[0]}', as the control by length is: give it another name")
    found = {**right, **lengths}
    if uneven := [name for name, shares in found.items() if len(shares) != len(chosen)]:
        raise InputError(
            f"scorer '{uneven[0]}' has {len(found[uneven[0]])} pairs, of {len(chosen)} that were held out: score all "
            "and no others"
        )
    return {name: clustered_ratio(shares, np.ones(len(shares)), unit) for name, shares in found.items()}


def _refuse_other_mixture(heads: Heads, mixture: Float[np.ndarray, " head"]) -> None:
    if len(heads) != len(mixture) or (mixture < 0).any() or not np.isclose(mixture.sum(), 1.0):
        raise InputError(
            f"a mixture of {len(mixture)} shares that sum to {mixture.sum():g} for {len(heads)} heads: give each head "
            "its share, none below 0, 1 in all"
        )
