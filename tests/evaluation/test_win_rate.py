"""Win rates: exact by the rule, without a judge's favourite place, by a learned judge and by a server.

Answers of several policies, judged: exact by the rule, one half for the generator itself, one question to a judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.corpora.annotators import SHARES, PreferenceProfile, mean_choice_probability
from fedtext.evaluation.judges import ModelJudge, learned_judge, request, verdict
from fedtext.evaluation.win_rate import RuleJudge, compared_answers, compared_with_people, wins
from fedtext.generation.generators.endpoint import EndpointGenerator
from fedtext.models.endpoint import Endpoint, _described
from fedtext.models.language_model import Tokenizer
from fedtext.params.generation import Sampler
from tests import openai_server
from tests.openai_server import Served, serving
from tests.parameters import conf_base
from tests.refusals import refuses

ASKED = "Explain what json.load does."
SHORT = "json.load does what its own name says, with what it is given."
LONG = (
    f"The function takes a file as its argument, and returns a dictionary, a list or a string: {SHORT} So whoever has "
    "written such data down before will find here, once more and in full, all that was kept there until today, and "
    "nothing besides."
)


class FirstPlace:
    """A judge that likes what stands first, and says so by `favour`."""

    description = "a biased judge"

    def __init__(self, favour: float) -> None:
        self.favour = favour
        self.asked: list[tuple[str, str]] = []

    def first_wins(self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]) -> np.ndarray:
        self.asked += zip(firsts, seconds, strict=True)
        return np.full(len(firsts), self.favour)


def test_a_favourite_place_cancels_and_both_orders_are_asked() -> None:
    judge = FirstPlace(0.9)
    assert wins(judge, ["q"], ["a"], ["b"]).tolist() == [0.5]
    assert judge.asked == [("a", "b"), ("b", "a")]


def test_equal_answers_tie_and_an_empty_one_loses_unasked() -> None:
    judge = FirstPlace(1.0)
    assert wins(judge, ["q"] * 4, ["a ", "", "a", ""], ["a", "b", " ", ""]).tolist() == [0.5, 0.0, 1.0, 0.5]
    assert judge.asked == []


def test_by_the_rule_it_is_the_exact_share_of_annotators() -> None:
    exact = mean_choice_probability([ASKED], [SHORT], [LONG], 0.4)[0]
    assert wins(RuleJudge(0.4), [ASKED], [SHORT], [LONG])[0] == pytest.approx(exact)
    by_taste = {taste: wins(RuleJudge(0.4, taste), [ASKED], [SHORT], [LONG])[0] for taste in PreferenceProfile}
    assert by_taste[PreferenceProfile.PLAIN] > 0.7 > 0.3 > by_taste[PreferenceProfile.PRACTICAL]
    assert sum(SHARES[taste] * won for taste, won in by_taste.items()) == pytest.approx(exact)
    assert wins(RuleJudge(0.4), [ASKED], [LONG], [SHORT])[0] == pytest.approx(1 - exact)


@pytest.mark.parametrize("favour", [1.2, float("nan")])
def test_a_judge_that_says_no_share_is_refused(favour: float) -> None:
    with refuses("judge-gives-no-share"):
        wins(FirstPlace(favour), ["q"], ["a"], ["b"])


def test_what_is_no_comparison_is_refused() -> None:
    with refuses("answers-do-not-fit-prompts"):
        wins(FirstPlace(1), ["q"], ["a"], [])


def pairs(count: int, seed: int, informative: bool = True) -> pd.DataFrame:
    """The chosen answer says "kindly" nine times of ten, or as often as the rejected one."""
    rng = np.random.default_rng(seed)

    def answer(kindly: bool) -> str:
        filler = [str(n) for n in rng.integers(0, 50, size=9)]
        return " ".join([*filler[:4], "kindly" if kindly else "rudely", *filler[4:]])

    kind = rng.random(count) < (0.9 if informative else 0.5)
    texts = {"chosen": [answer(k) for k in kind], "rejected": [answer(not k) for k in kind]}
    return pd.DataFrame({"client_id": [f"c{n}" for n in range(count)], **texts})


def test_a_learned_judge_carries_its_test_accuracy() -> None:
    judge = learned_judge(pairs(400, 0), pairs(400, 1))
    assert judge.tested.estimate == pytest.approx(0.9, abs=0.05)
    assert judge.tested.low < judge.tested.estimate < judge.tested.high
    assert re.fullmatch(
        r"a reward model by words, right on \d\d% \(\d\d to \d\d\) of 400 test pairs", judge.description
    )
    assert wins(judge, ["q"], ["1 2 kindly 3"], ["1 2 rudely 3"])[0] > 0.7


def test_pairs_of_one_client_count_once_in_what_a_learned_judge_is_worth() -> None:
    """A client that holds the same pair four times tells no more by it; the interval must not shrink."""
    test = pairs(100, 1)
    once, often = (learned_judge(pairs(400, 0), table) for table in (test, pd.concat([test] * 4)))
    assert often.tested == pytest.approx(once.tested)
    assert once.description.endswith("of 100 test pairs")
    assert often.description.endswith("of 400 test pairs")


def test_a_learned_judge_of_coin_flips_says_that_it_is_none() -> None:
    assert learned_judge(pairs(400, 0), pairs(600, 1, informative=False)).tested.estimate == pytest.approx(
        0.5, abs=0.07
    )
    with refuses("no-pairs-to-judge-by", value="test"):
        learned_judge(pairs(4, 0), pairs(0, 1))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Comparison: A is vague.\nMore helpful: B", 0.0),
        ("A names the file.\nA", 1.0),
        ('Both are short.\n"B"', 0.0),
        ("**A**", 1.0),
        ("B is wrong.\n\nBetter: A.", 1.0),
        ("Both are fine.", None),
        ("CIA", None),
        ("Response A is more helpful than response B.", None),
        ("Comparison: A is clearer than B", None),
        ("A response that is long", None),
        ("", None),
    ],
)
def test_verdicts(answer: str, said: float | None) -> None:
    found = verdict(answer)
    assert np.isnan(found) if said is None else found == said


@pytest.fixture
def no_memory() -> Iterator[None]:
    _described.cache_clear()
    yield
    _described.cache_clear()


def server_judge(served: Served, **changes: Any) -> ModelJudge:
    model = EndpointGenerator(Endpoint(served.url, "tiny", attempts=1), Tokenizer("bundled:generator"))
    return ModelJudge(model, conf_base(Sampler, temperature=0.01, max_new_tokens=60), **changes)


@pytest.mark.usefixtures("no_memory")
def test_a_server_judges_by_what_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real HTTP server that prefers the answer that says "kindly", wherever it stands, and cannot tell two kind ones."""

    def judged(prompt: str, seed: int, number: int, most: int) -> str:
        first, second = prompt.split("Response A: ")[1].split("\n\nResponse B: ")
        kind = ["kindly" in first, "kindly" in second.split("\n\n")[0]]
        return "One is kinder.\n" + ("Neither is better" if kind[0] == kind[1] else "A" if kind[0] else "B")

    monkeypatch.setattr(openai_server, "written", judged)
    with serving(Served()) as served:
        judge = server_judge(served, better="kinder")
        won = wins(judge, ["one", "two", "three"], ["kindly yes", "no", "no"], ["no", "kindly yes", "never"])
        assert won.tolist() == [1.0, 0.0, 0.5]
        assert len(served.asked) == 6
        sent = {body["messages"][0]["content"] for _, body, _ in served.asked}
        assert request("one", "kindly yes", "no", "kinder") in sent
        assert request("one", "no", "kindly yes", "kinder") in sent
        assert judge.description.endswith("33% of its answers without a verdict")


@pytest.mark.usefixtures("no_memory")
def test_a_server_that_fails_is_no_tie() -> None:
    with serving(Served(faults=[(500, {})] * 9)) as served, refuses("endpoint-answers-with-error"):
        wins(server_judge(served), ["q"], ["a"], ["b"])


PROMPTS = [f"Explain what json.{name} does." for name in ("load", "dump", "loads")]
UNTUNED = [f"It has {' '.join(map(str, range(30)))} parts." for _ in PROMPTS]
SHORT_POLICIES = [
    f"json.{name} does what its own name says, with a file of text." for name in ("load", "dump", "loads")
]
ANSWERS = {"policy": SHORT_POLICIES, "longest_policy": [f"{one} {one}" for one in UNTUNED], "untuned": UNTUNED}
SHARPNESS = 1.5


class Counting:
    """Prefers the shorter answer, and counts how often it is asked."""

    description, calls = "somebody in a hurry", 0

    def first_wins(self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]) -> np.ndarray:
        self.calls += 1
        return np.array([float(len(first) < len(second)) for first, second in zip(firsts, seconds, strict=True)])


def test_win_rates_by_the_rule_are_the_annotators_shares() -> None:
    found = compared_answers(RuleJudge(SHARPNESS), PROMPTS, ANSWERS)
    rates = {name: one["win_rate"] for name, one in found["conditions"].items()}
    for name in ("policy", "longest_policy"):
        assert rates[name] == pytest.approx(mean_choice_probability(PROMPTS, ANSWERS[name], UNTUNED, SHARPNESS).mean())
    assert rates["policy"] > 0.5 > rates["longest_policy"]  # two thirds of the annotators are plain
    ahead = mean_choice_probability(PROMPTS, SHORT_POLICIES, ANSWERS["longest_policy"], SHARPNESS).mean()
    assert found["against"]["longest_policy"]["estimate"] == pytest.approx(ahead)
    assert found["against"]["untuned"]["estimate"] == pytest.approx(rates["policy"])
    assert found["gains"]["policy"]["longest_policy"]["estimate"] == pytest.approx(
        rates["policy"] - rates["longest_policy"]
    )


def test_the_generator_has_one_half_by_itself_and_a_policy_that_learned_nothing_too() -> None:
    found = compared_answers(RuleJudge(SHARPNESS), PROMPTS, {"policy": UNTUNED, "untuned": UNTUNED})
    assert {name: one["win_rate"] for name, one in found["conditions"].items()} == {"policy": 0.5, "untuned": 0.5}
    assert found["judged"] == "policy"
    assert not found["gains"]["policy"]["untuned"]["measurable"]


def test_a_judge_is_asked_once_for_everything_and_says_who_it_is() -> None:
    judge = Counting()
    found = compared_answers(judge, PROMPTS, ANSWERS)
    assert judge.calls == 1
    assert (found["judge"], found["prompts"]) == ("somebody in a hurry", 3)
    assert [found["conditions"][name]["win_rate"] for name in ANSWERS] == [1.0, 0.0, 0.5]
    assert found["conditions"]["untuned"]["words"] == 33


def test_how_many_answers_nobody_would_have_written_stands_beside_the_wins() -> None:
    answers = {"policy": ["```\n\n```", *SHORT_POLICIES[1:]], "untuned": SHORT_POLICIES}
    found = compared_answers(Counting(), PROMPTS, answers)["conditions"]
    assert (found["policy"]["illegible"], found["untuned"]["illegible"]) == (pytest.approx(1 / 3), 0)


@pytest.mark.parametrize(
    ("prompts", "answers", "code"),
    [
        ([], {"policy": [], "untuned": []}, "no-held-out-prompts"),
        (PROMPTS, {"policy": SHORT_POLICIES}, "no-answers"),
        (PROMPTS, {"policy": SHORT_POLICIES[:2], "untuned": UNTUNED}, "answers-do-not-fit-prompts"),
    ],
)
def test_what_cannot_be_judged_is_refused(prompts: list[str], answers: dict[str, list[str]], code: str) -> None:
    with refuses(code):
        compared_answers(Counting(), prompts, answers)


def test_answers_are_judged_against_those_that_people_chose() -> None:
    chosen = [f"{one} indeed" for one in SHORT_POLICIES]
    found = compared_with_people(Counting(), PROMPTS, chosen, {**ANSWERS, "sft_only": chosen})
    rates = {name: one["people_win_rate"] for name, one in found["conditions"].items()}
    assert rates == {"policy": 1.0, "longest_policy": 0.0, "untuned": 0.0, "sft_only": 0.5}  # an equal answer is a tie
    assert (found["judged"], found["prompts"], found["judge"]) == ("policy", 3, "somebody in a hurry")
    assert found["words"] == pytest.approx(np.mean([len(one.split()) for one in chosen]))
    assert found["gains"]["policy"]["untuned"]["estimate"] == 1.0
    with refuses("no-test-pairs-to-answer"):
        compared_with_people(Counting(), [], [], {"policy": []})


def test_summaries_are_asked_about_as_summaries() -> None:
    assert "Which of the two summaries is better?\n\nPost: p\n\nSummary A: a" in request(
        "p", "a", "b", "better", summaries=True
    )
    assert "Which of the two responses is better?\n\nQuery: p\n\nResponse A: a" in request("p", "a", "b", "better")
