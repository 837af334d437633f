"""Answers of a policy and of the controls to the same prompts, judged against each other.

Each is judged against the generator as it was, which has one half by definition, so that policies of different runs
compare; and the run's own policy against every control, head to head. A judge is asked once for everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedtext.evaluation.measures.illegible_texts import illegible_share
from fedtext.evaluation.measures.win_rate import PROMPTS, WIN_RATE, WON
from fedtext.evaluation.paired import compare_scored
from fedtext.evaluation.ratios import clustered_ratio
from fedtext.evaluation.win_rate import Judge, wins
from fedtext.params.conditions import POLICY, UNTUNED
from fedtext.system.errors import InputError


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
