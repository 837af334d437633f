"""Answers of several policies, judged: exact by the rule, one half for the generator itself, one question to a judge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fedtext.corpora.annotators import share_choosing
from fedtext.evaluation.policies import compared_answers
from fedtext.evaluation.win_rate import RuleJudge
from fedtext.system.errors import InputError

PROMPTS = [f"Explain what json.{name} does." for name in ("load", "dump", "loads")]
UNTUNED = [f"It has {' '.join(map(str, range(30)))} parts." for _ in PROMPTS]
SHORT = [f"json.{name} does what its own name says, with a file of text." for name in ("load", "dump", "loads")]
ANSWERS = {"policy": SHORT, "longest_policy": [f"{one} {one}" for one in UNTUNED], "generator": UNTUNED}
SHARPNESS = 1.5


class Counting:
    """Prefers the shorter answer, and counts how often it is asked."""

    told, calls = "somebody in a hurry", 0

    def first_wins(self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]) -> np.ndarray:
        self.calls += 1
        return np.array([float(len(first) < len(second)) for first, second in zip(firsts, seconds, strict=True)])


def test_win_rates_by_the_rule_are_the_annotators_shares() -> None:
    found = compared_answers(RuleJudge(SHARPNESS), PROMPTS, ANSWERS)
    rates = {name: one["win_rate"] for name, one in found["conditions"].items()}
    for name in ("policy", "longest_policy"):
        assert rates[name] == pytest.approx(share_choosing(PROMPTS, ANSWERS[name], UNTUNED, SHARPNESS).mean())
    assert rates["policy"] > 0.5 > rates["longest_policy"]  # two thirds of the annotators are plain
    ahead = share_choosing(PROMPTS, SHORT, ANSWERS["longest_policy"], SHARPNESS).mean()
    assert found["against"]["longest_policy"]["estimate"] == pytest.approx(ahead)
    assert found["against"]["generator"]["estimate"] == pytest.approx(rates["policy"])
    assert found["gains"]["policy"]["longest_policy"]["estimate"] == pytest.approx(
        rates["policy"] - rates["longest_policy"]
    )


def test_the_generator_has_one_half_by_itself_and_a_policy_that_learned_nothing_too() -> None:
    found = compared_answers(RuleJudge(SHARPNESS), PROMPTS, {"policy": UNTUNED, "generator": UNTUNED})
    assert {name: one["win_rate"] for name, one in found["conditions"].items()} == {"policy": 0.5, "generator": 0.5}
    assert found["judged"] == "policy"
    assert not found["gains"]["policy"]["generator"]["measurable"]


def test_a_judge_is_asked_once_for_everything_and_says_who_it_is() -> None:
    judge = Counting()
    found = compared_answers(judge, PROMPTS, ANSWERS)
    assert judge.calls == 1
    assert (found["judge"], found["prompts"]) == ("somebody in a hurry", 3)
    assert [found["conditions"][name]["win_rate"] for name in ANSWERS] == [1.0, 0.0, 0.5]
    assert found["conditions"]["generator"]["words"] == 33


def test_how_many_answers_nobody_would_have_written_stands_beside_the_wins() -> None:
    answers = {"policy": ["```\n\n```", *SHORT[1:]], "generator": SHORT}
    found = compared_answers(Counting(), PROMPTS, answers)["conditions"]
    assert (found["policy"]["illegible"], found["generator"]["illegible"]) == (pytest.approx(1 / 3), 0)


@pytest.mark.parametrize(
    ("prompts", "answers", "said"),
    [
        ([], {"policy": [], "generator": []}, "no held-out prompts"),
        (PROMPTS, {"policy": SHORT}, "no answers of generator"),
        (PROMPTS, {"policy": SHORT[:2], "generator": UNTUNED}, "give one a side and prompt"),
    ],
)
def test_what_cannot_be_judged_is_refused(prompts: list[str], answers: dict[str, list[str]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        compared_answers(Counting(), prompts, answers)
