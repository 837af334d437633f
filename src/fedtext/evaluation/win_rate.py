"""Win rates: how often a judge prefers a policy's answers to those of the controls.

How often a judge prefers one model's answers to other ones.

A judge says how likely the first of two answers is the better one, 0 to 1. Judges that are models favour a position,
so every pair is judged in both orders and the mean counts. Ties are one half.

The judges, from exact to weak:

- `RuleJudge`: made-up annotators' own rule (`fedtext.corpora.annotators`): the exact share of annotators.
- `RewardJudge` (fedtext.evaluation.judges): learned from validation pairs; its own test accuracy says how far it
  is to be trusted.
- `ModelJudge` (fedtext.evaluation.judges): any generator, local or a server, asked in words as in DPPrefSyn's
  appendix C.3.

Answers of a policy and of the controls to the same prompts, judged against each other.

Each is judged against the generator as it was, which has one half by definition, so that policies of different runs
compare; and the run's own policy against every control, head to head. A judge is asked once for everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float

from fedtext.corpora.annotators import PreferenceProfile, choice_probability, mean_choice_probability
from fedtext.evaluation.measures.preferences import PROMPTS, WIN_RATE, WON
from fedtext.evaluation.measures.texts import illegible_share
from fedtext.evaluation.paired import compare_scored
from fedtext.evaluation.ratios import clustered_ratio
from fedtext.params.conditions import POLICY, UNTUNED
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
    taste: PreferenceProfile | None = None

    @property
    def told(self) -> str:
        """Whose rule it is."""
        return "the made-up annotators' rule" if self.taste is None else f"the rule of the {self.taste} annotators"

    def first_wins(
        self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> Float[np.ndarray, " pair"]:
        """The share of annotators that chooses the first answer."""
        if self.taste is None:
            return mean_choice_probability(prompts, firsts, seconds, self.sharpness)
        return choice_probability(prompts, firsts, seconds, self.taste, self.sharpness)


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


def compared_answers(judge: Judge, prompts: Sequence[str], answers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The document that a report reads of win rates.

    Args:
        judge: Who compares.
        prompts: Held out from training.
        answers: One to each prompt, by condition: those of `POLICY` and of `UNTUNED` at least.

    Returns:
        What `compare_scored` returns of the win rates against the generator as it was, with the mean length in `words`
        of every condition's answers and the share of them that is `illegible`; `judge`, in words; `prompts`, how many;
        and `against`: by control, how much the policy wins against it (`estimate`, `low`, `high`).

    Raises:
        ValueError: no prompt, no answers of the policy or the generator, or what `wins` refuses.
    """
    if not len(prompts):
        raise InputError("no held-out prompts: a win rate needs at least one")
    if absent := [one.name for one in (POLICY, UNTUNED) if one.name not in answers]:
        raise InputError(f"no answers of {' and '.join(absent)}: a policy is judged beside the generator as it was")
    one = np.ones(len(prompts))
    won = _all_wins(judge, prompts, answers)
    scored: dict[str, dict[str, np.ndarray]] = {
        name: {WON: won.get((name, UNTUNED.name), 0.5 * one), PROMPTS: one, "texts": np.asarray(0)} for name in answers
    }
    found = compare_scored(scored, [WIN_RATE])
    for name, own in answers.items():
        words = float(np.mean([len(answer.split()) for answer in own]))
        found["conditions"][name].update(words=words, illegible=illegible_share(own))
    against = {name: clustered_ratio(won[POLICY.name, name], one) for name in answers if name != POLICY.name}
    return {
        **found,
        "judge": judge.told,
        PROMPTS: len(prompts),
        "against": {
            name: {"estimate": rate.estimate, "low": rate.low, "high": rate.high} for name, rate in against.items()
        },
    }


def _all_wins(
    judge: Judge, prompts: Sequence[str], answers: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], np.ndarray]:
    """How much of each prompt the first of two conditions wins, for all pairs of conditions that are compared."""
    tuned = [name for name in answers if name != UNTUNED.name]
    asked = [(name, UNTUNED.name) for name in tuned]
    asked += [(POLICY.name, name) for name in tuned if name != POLICY.name]
    ours, theirs = ([text for pair in asked for text in answers[pair[side]]] for side in (0, 1))
    won = wins(judge, [*prompts] * len(asked), ours, theirs)
    return dict(zip(asked, np.split(won, len(asked)), strict=True))
