"""Who judges a policy: the annotators' rule where they are made up, a reward model where pairs are free, else a model."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.policies import Membership, NeuralReward, Policies
from tests.parameters import conf_base
from tests.refusals import refuses

MADE_UP = conf_base(Corpus, source="docstrings")
FILE = conf_base(Corpus, source="hh", path="pairs.jsonl")


@pytest.mark.parametrize(
    ("corpus", "dp", "asked", "judge"),
    [
        (MADE_UP, False, {}, "rule"),
        (MADE_UP, True, {}, "rule"),
        (FILE, False, {}, "reward"),
        (FILE, True, {}, None),
        (FILE, True, {"judge": "model"}, "model"),
        (MADE_UP, False, {"judge": "reward"}, "reward"),
        (MADE_UP, False, {"win_rate": False, "judge": "model"}, None),
    ],
)
def test_who_judges(corpus: Corpus, dp: bool, asked: dict[str, Any], judge: str | None) -> None:
    assert conf_base(Policies, asked).judged_by(corpus, dp=dp) == judge


@pytest.mark.parametrize(
    ("corpus", "dp", "asked", "code"),
    [
        (FILE, False, {"judge": "rule"}, "no-rule-for-real-pairs"),
        (FILE, True, {"judge": "reward"}, "reward-reads-protected-pairs"),
        (FILE, True, {"win_rate": True}, "win-rate-without-judge"),
    ],
)
def test_who_cannot_judge(corpus: Corpus, dp: bool, asked: dict[str, Any], code: str) -> None:
    with refuses(code):
        conf_base(Policies, asked).judged_by(corpus, dp=dp)


def test_no_control_is_asked_for_by_an_empty_list_and_by_nothing_after_its_name() -> None:
    assert conf_base(Policies, controls=[]).controls == conf_base(Policies, controls=None).controls == ()


def test_a_control_that_nobody_knows_is_refused() -> None:
    with refuses("unknown-control"):
        conf_base(Policies, controls="sft_only random_polcy")


def test_protected_pairs_are_read_where_a_control_may_read_them_and_nowhere_else() -> None:
    measured = conf_base(Membership, measured=True)
    measured.validate_settings(MADE_UP, conf_base(Evaluation))
    measured.validate_settings(FILE, conf_base(Evaluation, private_control=True, dp=False))
    with refuses("protected-pairs-without-release"):
        measured.validate_settings(FILE, conf_base(Evaluation, private_control=True))
    conf_base(Membership).validate_settings(FILE, conf_base(Evaluation))
    with refuses("reads-protected-pairs"):
        measured.validate_settings(FILE, conf_base(Evaluation))


def test_people_s_answers_are_shown_to_a_judge_where_the_corpus_is_public_and_figures_are_exact() -> None:
    against, exact = conf_base(Policies, against_people=True), conf_base(Evaluation, dp=False)
    public = conf_base(Corpus, source="hh", path="pairs.jsonl", declared_public=True)
    against.validate_people(MADE_UP, conf_base(Evaluation))
    against.validate_people(public, conf_base(Evaluation))
    conf_base(Policies).validate_people(FILE, exact)
    with refuses("people-are-private", parameter="policies.against_people"):
        against.validate_people(FILE, exact)
    with refuses("people-have-no-release"):
        against.validate_people(public, conf_base(Evaluation, dp=True))
    with refuses("people-without-judge"):
        conf_base(Policies, against_people=True, win_rate=False).validate_people(public, exact)


def test_a_neural_reward_model_reads_protected_pairs_where_a_control_may() -> None:
    measured = conf_base(NeuralReward, measured=True)
    measured.validate_settings(MADE_UP, conf_base(Evaluation))
    measured.validate_settings(FILE, conf_base(Evaluation, private_control=True, dp=False))
    conf_base(NeuralReward).validate_settings(FILE, conf_base(Evaluation))
    with refuses("protected-pairs-without-release"):
        measured.validate_settings(FILE, conf_base(Evaluation, private_control=True))
    with refuses("reads-protected-pairs", parameter="policies.neural_reward.measured"):
        measured.validate_settings(FILE, conf_base(Evaluation))
