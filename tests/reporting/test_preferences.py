"""What a report says of win rates and membership: the controls beside the policy, the judge, and a leak."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fedtext.evaluation.cost import Cost
from fedtext.evaluation.win_rate import RuleJudge, compared_answers, compared_with_people
from fedtext.federation.communication import Exchange
from fedtext.reporting.glossary import Terms
from fedtext.reporting.preferences import (
    NOT_MEASURED,
    membership_sentence,
    people_sentence,
    people_table,
    preference_scorecard,
    render_preferences,
    win_rate_sentence,
    win_rate_table,
)
from tests.evaluation.examples import protection
from tests.evaluation.test_win_rate import ANSWERS, PROMPTS, SHARPNESS

COLUMNS = ("prompt", "policy", "untuned")
MEMBERSHIP = {
    "auc": 0.5123, "low": 0.47, "high": 0.55, "ceiling": 0.7311, "above": False, "members": 1200, "others": 300,
}  # fmt: skip


def test_the_sentence_names_judge_prompts_and_controls() -> None:
    found = compared_answers(RuleJudge(SHARPNESS), PROMPTS, ANSWERS)
    said = win_rate_sentence(found)
    rates = {name: f"{100 * one['win_rate']:.1f}%" for name, one in found["conditions"].items()}
    assert f"answers win {rates['policy']} against those of the model as it was" in said
    assert "ties one half, over 3 held-out public prompts" in said
    assert "says the made-up annotators' rule" in said
    assert said.endswith(f"training to prefer the longest answer {rates['longest_policy']}.")


def test_the_table_has_a_row_for_every_policy_and_the_generator_as_it_was() -> None:
    page = win_rate_table(compared_answers(RuleJudge(SHARPNESS), PROMPTS, ANSWERS))
    assert page.count("<tr") == 1 + len(ANSWERS)
    assert "trained to prefer the longest answer" in page
    assert "50.0%" in page


def test_answers_from_everywhere_stand_beside_the_generator_s() -> None:
    """A rule can be pleased by what no reader would like: whoever reads the page sees the answers."""
    cost = Cost.of("DPPrefSyn", Exchange(variant="steps", down_floats=0, up_floats=1, exchanges=1))
    found = compared_answers(RuleJudge(SHARPNESS), PROMPTS, ANSWERS)
    card = preference_scorecard(
        corpus="pairs", protection=protection(), cost=cost, pairs=None, terms=Terms(), accuracy=None, win_rates=found
    )
    answers = pd.DataFrame({name: [f"{name} <{number:02d}>" for number in range(20)] for name in COLUMNS})
    page = render_preferences(card, {}, None, {}, answers)
    assert "7 of 20 held-out prompts, evenly spaced" in page
    shown = [number for number in range(20) if f"prompt &lt;{number:02d}&gt;" in page]
    assert shown == [0, 3, 6, 9, 12, 15, 18]
    order = [page.index(f"{name} &lt;18&gt;") for name in COLUMNS]
    assert order == sorted(order)
    assert "evenly spaced" not in render_preferences(card, {}, None, {})


def test_wins_against_people_have_a_sentence_and_a_table_of_their_own() -> None:
    found = compared_with_people(RuleJudge(SHARPNESS), PROMPTS, ANSWERS["longest_policy"], ANSWERS)
    rates = {name: f"{100 * one['people_win_rate']:.1f}%" for name, one in found["conditions"].items()}
    said = people_sentence(found)
    assert f"the answers that people chose the policy's win {rates['policy']}" in said
    assert f"over 3 prompts of test pairs; beside it, the model as it was {rates['untuned']}" in said
    page = people_table(found)
    assert page.count("<tr") == 1 + len(ANSWERS)
    assert "50.0%" in page  # the longest policy says what people chose
    cost = Cost.of("DPPrefSyn", Exchange(variant="steps", down_floats=0, up_floats=1, exchanges=1))
    given: dict[str, Any] = {"corpus": "pairs", "protection": protection(), "cost": cost, "pairs": None}
    card = preference_scorecard(**given, terms=Terms(), accuracy=None, people=found)
    assert said in card["headline"]
    assert NOT_MEASURED not in card["headline"]
    assert "judged by the made-up annotators" in render_preferences(card, {}, None, {})


def test_an_attack_above_its_ceiling_is_called_a_leak() -> None:
    assert "AUC of 0.512 (95% interval 0.470 to 0.550)" in membership_sentence(MEMBERSHIP)
    assert "leaks" not in membership_sentence(MEMBERSHIP)
    above = {**MEMBERSHIP, "above": True}
    assert "something leaks" in membership_sentence({**above, "alone": True})
    beside = membership_sentence({**above, "alone": False})
    assert "leaks" not in beside
    assert "nothing follows from it" in beside
    assert "no finite ε" in membership_sentence({**MEMBERSHIP, "ceiling": None})


def test_a_report_that_looked_at_held_out_pairs_says_so() -> None:
    """An attack reads test clients' pairs as well, without a price."""
    cost = Cost.of("DP-FT", Exchange(variant="steps", down_floats=0, up_floats=1, exchanges=1))
    given: dict[str, Any] = {"corpus": "pairs", "protection": protection(), "cost": cost, "pairs": None}
    unseen = preference_scorecard(**given, terms=Terms(), accuracy=None)
    seen = preference_scorecard(**given, terms=Terms(), accuracy=None, membership=MEMBERSHIP)
    assert NOT_MEASURED in unseen["headline"]
    assert NOT_MEASURED not in seen["headline"]
    assert [note in unseen["notes"] for note in Terms().notes()] == [False]
    assert seen["notes"] == Terms().notes()


def test_pairs_that_nobody_learned_from_private_ones_say_so() -> None:
    cost = Cost.of("DPPrefSyn", Exchange(variant="steps", down_floats=0, up_floats=0, exchanges=0))
    given: dict[str, Any] = {"corpus": "a file of pairs", "cost": cost, "pairs": 12, "terms": Terms(), "accuracy": None}
    chosen = preference_scorecard(**given, protection=protection(released=False, epsilon=0.0))
    learned = preference_scorecard(**given, protection=protection())
    assert "nothing was learned from private pairs" in chosen["limits"][0]
    assert "was learned from private pairs" in learned["limits"][0]
    assert "nothing was learned" not in learned["limits"][0]
    assert "by DPPrefSyn beside a file of pairs" in render_preferences(chosen, {}, None, {})
    assert "by DPPrefSyn from a file of pairs" in render_preferences(learned, {}, None, {})
