"""How often a judge prefers one model's answers to other ones.

A judge says how likely the first of two answers is the better one, 0 to 1. Judges that are models favour a position,
so every pair is judged in both orders and the mean counts. Ties are one half.

The judges, from exact to weak:

- `RuleJudge`: made-up annotators' own rule (`fedtext.corpora.annotators`): the exact share of annotators.
- `RewardJudge` (fedtext.evaluation.reward_judge): learned from validation pairs; its own test accuracy says how far it
  is to be trusted.
- `ModelJudge` (fedtext.evaluation.model_judge): any generator, local or a server, asked in words as in DPPrefSyn's
  appendix C.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float

from fedtext.corpora.annotators import Taste, chance, share_choosing
from fedtext.system.errors import InputError


class Judge(Protocol):
    """Whoever compares answers."""

    @property
    def told(self) -> str:
        """Who judges and how far that can be trusted, in one phrase for a table."""

    def first_wins(
        self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> Float[np.ndarray, " pair"]:
        """How likely the first answer to each prompt is the better one, 0 to 1; one half where there is no telling."""


@dataclass(frozen=True)
class RuleJudge:
    """Made-up annotators, all of them or those of one taste: exact, no vote is drawn."""

    sharpness: float
    taste: Taste | None = None

    @property
    def told(self) -> str:
        """Whose rule it is."""
        return "the made-up annotators' rule" if self.taste is None else f"the rule of the {self.taste} annotators"

    def first_wins(
        self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> Float[np.ndarray, " pair"]:
        """The share of annotators that chooses the first answer."""
        if self.taste is None:
            return share_choosing(prompts, firsts, seconds, self.sharpness)
        return chance(prompts, firsts, seconds, self.taste, self.sharpness)


def wins(
    judge: Judge, prompts: Sequence[str], ours: Sequence[str], theirs: Sequence[str]
) -> Float[np.ndarray, " pair"]:
    """How much of each pair our answer wins, 0 to 1: the mean of both orders.

    Two answers that are the same are a tie, and an empty answer loses, whatever the judge would say.

    Raises:
        ValueError: not one answer of each side to each prompt, or a judge that does not say a share of each pair.
    """
    if not len(prompts) == len(ours) == len(theirs):
        raise InputError(f"{len(ours)} and {len(theirs)} answers to {len(prompts)} prompts: give one a side and prompt")
    left, right = [one.strip() for one in ours], [one.strip() for one in theirs]
    decided = np.array([(1.0 + bool(a) - bool(b)) / 2 for a, b in zip(left, right, strict=True)])
    asked = [i for i, (a, b) in enumerate(zip(left, right, strict=True)) if a and b and a != b]
    if not asked:
        return decided
    named, a, b = ([column[i] for i in asked] for column in (prompts, left, right))
    both = np.asarray(judge.first_wins([*named, *named], [*a, *b], [*b, *a]), dtype=np.float64)
    if both.shape != (2 * len(asked),) or not ((both >= 0) & (both <= 1)).all():
        raise InputError(f"{judge.told}: no share between 0 and 1 for each of {2 * len(asked)} comparisons: mend it")
    decided[asked] = 0.5 + (both[: len(asked)] - both[len(asked) :]) / 2
    return decided
