"""Win rates: how often a judge prefers a policy's answers to those of the baselines.

A judge returns the probability, 0 to 1, that the first of two answers is the better one. Judges that are models favour
a position, so every pair is judged in both orders and the mean counts. Ties are one half.

The judges, from exact to weak:

- `RuleJudge`: the rule of simulated annotators (`fedtext.corpora.annotators`), the exact share of annotators.
- `RewardJudge` (fedtext.evaluation.judges): trained on validation pairs; its own test accuracy is reported.
- `ModelJudge` (fedtext.evaluation.judges): any generator, local or a server, prompted as in DPPrefSyn's appendix C.3.

Answers to the same prompts are each judged against the untuned model, which has one half by definition, so that
policies of different runs compare. The run's own policy is also judged against every baseline. Each comparison is
judged once.

Of a public corpus answers may also be judged against those that people chose, as in DPPrefSyn's tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float

from fedtext.corpora.annotators import PreferenceProfile, choice_probability, mean_choice_probability
from fedtext.evaluation.measures.preferences import PEOPLE_WIN_RATE, PROMPTS, WIN_RATE, WON
from fedtext.evaluation.measures.texts import illegible_share
from fedtext.evaluation.paired import compare_scored
from fedtext.evaluation.ratios import clustered_ratio
from fedtext.params.conditions import POLICY, UNTUNED
from fedtext.system.errors import InputError


class Judge(Protocol):
    """An object that compares answers."""

    @property
    def description(self) -> str:
        """The judge and its reliability, in one phrase for a table."""

    def first_wins(
        self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> Float[np.ndarray, " pair"]:
        """Return the probability that the first answer to each prompt is the better one, 0 to 1; one half at a tie."""


@dataclass(frozen=True)
class RuleJudge:
    """Simulated annotators, all of them or those of one preference profile; exact, since no vote is sampled."""

    sharpness: float
    taste: PreferenceProfile | None = None

    @property
    def description(self) -> str:
        """The annotators whose rule it is."""
        return "the made-up annotators' rule" if self.taste is None else f"the rule of the {self.taste} annotators"

    def first_wins(
        self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> Float[np.ndarray, " pair"]:
        """Return the share of annotators that chooses the first answer."""
        if self.taste is None:
            return mean_choice_probability(prompts, firsts, seconds, self.sharpness)
        return choice_probability(prompts, firsts, seconds, self.taste, self.sharpness)


def wins(
    judge: Judge, prompts: Sequence[str], ours: Sequence[str], theirs: Sequence[str]
) -> Float[np.ndarray, " pair"]:
    """Return our answer's share of each pair, 0 to 1, as the mean of both orders.

    Two equal answers are a tie, and an empty answer loses, whatever the judge returns.

    Raises:
        ValueError: the numbers of prompts and answers differ, or the judge does not return a share for each pair.
    """
    if not len(prompts) == len(ours) == len(theirs):
        raise InputError(
            f"{len(ours)} and {len(theirs)} answers to {len(prompts)} prompts: give one a side and prompt",
            code="answers-do-not-fit-prompts",
        )
    left, right = [one.strip() for one in ours], [one.strip() for one in theirs]
    decided = np.array([(1.0 + bool(a) - bool(b)) / 2 for a, b in zip(left, right, strict=True)])
    asked = [i for i, (a, b) in enumerate(zip(left, right, strict=True)) if a and b and a != b]
    if not asked:
        return decided
    named, a, b = ([column[i] for i in asked] for column in (prompts, left, right))
    both = np.asarray(judge.first_wins([*named, *named], [*a, *b], [*b, *a]), dtype=np.float64)
    if both.shape != (2 * len(asked),) or not ((both >= 0) & (both <= 1)).all():
        raise InputError(
            f"{judge.description}: no share between 0 and 1 for each of {2 * len(asked)} comparisons: mend it",
            code="judge-gives-no-share",
        )
    decided[asked] = 0.5 + (both[: len(asked)] - both[len(asked) :]) / 2
    return decided


def compared_answers(judge: Judge, prompts: Sequence[str], answers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Compute win rates, as the document that a report reads.

    Args:
        judge: The judge.
        prompts: Prompts held out from training.
        answers: One to each prompt, by condition: those of `POLICY` and of `UNTUNED` at least.

    Returns:
        The document of `compare_scored` for win rates against the untuned model, with the mean length in `words` of
        every condition's answers and their share that is `illegible`; `judge`, in words; `prompts`, their number; and
        `against`: by baseline, the policy's win rate against it (`estimate`, `low`, `high`).

    Raises:
        ValueError: there is no prompt, no answers of the policy or the model, or an error of `wins`.
    """
    if not len(prompts):
        raise InputError("no held-out prompts: a win rate needs at least one", code="no-held-out-prompts")
    if absent := [one.name for one in (POLICY, UNTUNED) if one.name not in answers]:
        raise InputError(
            f"no answers of {' and '.join(absent)}: a policy is judged beside the model as it was",
            code="no-answers",
            value=absent,
        )
    one = np.ones(len(prompts))
    won = _all_wins(judge, prompts, answers)
    scored: dict[str, dict[str, np.ndarray]] = {
        name: {WON: won.get((name, UNTUNED.name), 0.5 * one), PROMPTS: one, "texts": np.asarray(0)} for name in answers
    }
    found = _described(compare_scored(scored, [WIN_RATE]), answers)
    against = {name: clustered_ratio(won[POLICY.name, name], one) for name in answers if name != POLICY.name}
    return {
        **found,
        "judge": judge.description,
        PROMPTS: len(prompts),
        "against": {
            name: {"estimate": rate.estimate, "low": rate.low, "high": rate.high} for name, rate in against.items()
        },
    }


def compared_with_people(
    judge: Judge, prompts: Sequence[str], chosen: Sequence[str], answers: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Compute win rates against the answers that people chose (DPPrefSyn, section 5), as the document of a report.

    Args:
        judge: The judge.
        prompts: Prompts of test pairs of a public corpus.
        chosen: People's answer to each.
        answers: One to each prompt, by condition.

    Returns:
        The document of `compare_scored` for win rates against people, with each condition's `words` and `illegible`;
        `judge`, in words; `prompts`, their number; and `words`, the mean length of people's answers.

    Raises:
        ValueError: there is no prompt, or an error of `wins`.
    """
    if not len(prompts):
        raise InputError("no test pairs: a win rate needs at least one", code="no-test-pairs-to-answer")
    one = np.ones(len(prompts))
    ours = [text for said in answers.values() for text in said]
    won = np.split(wins(judge, [*prompts] * len(answers), ours, [*chosen] * len(answers)), len(answers))
    scored: dict[str, dict[str, np.ndarray]] = {
        name: {WON: own, PROMPTS: one, "texts": np.asarray(0)} for name, own in zip(answers, won, strict=True)
    }
    found = _described(compare_scored(scored, [PEOPLE_WIN_RATE]), answers)
    return {**found, "judge": judge.description, PROMPTS: len(prompts), "words": _words(chosen)}


def _described(found: dict[str, Any], answers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the document with the length and the illegible share of every condition's answers."""
    for name, own in answers.items():
        found["conditions"][name].update(words=_words(own), illegible=illegible_share(own))
    return found


def _words(answers: Sequence[str]) -> float:
    return float(np.mean([len(answer.split()) for answer in answers]))


def _all_wins(
    judge: Judge, prompts: Sequence[str], answers: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], np.ndarray]:
    """Return for each compared pair of conditions the first one's win probability on each prompt."""
    tuned = [name for name in answers if name != UNTUNED.name]
    asked = [(name, UNTUNED.name) for name in tuned]
    asked += [(POLICY.name, name) for name in tuned if name != POLICY.name]
    ours, theirs = ([text for pair in asked for text in answers[pair[side]]] for side in (0, 1))
    won = wins(judge, [*prompts] * len(asked), ours, theirs)
    return dict(zip(asked, np.split(won, len(asked)), strict=True))
