"""From scores to pairs: best and worst, gaps by either rule, empty answers, heads that are drawn or a topic's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.algorithms.dpprefsyn.scorer import LengthRule, Scorer, scorer_of
from fedtext.algorithms.dpprefsyn.selection import answer_scores, chosen_pairs, large_gaps
from fedtext.params.dpprefsyn import Gap
from fedtext.training.bradley_terry import sigmoid
from tests.algorithms.dpprefsyn.examples import DIM, dpprefsyn, public, units
from tests.refusals import refuses

ONE = Scorer(np.eye(DIM)[:1] * 3.0, np.ones(1))


def texts(prompts: int, answers: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    asked = pd.DataFrame({"prompt": [f"prompt {x}" for x in range(prompts)]})
    return asked, pd.DataFrame({"text": [f"answer {x} {a}" for x in range(prompts) for a in range(answers)]})


def test_the_best_and_the_worst_answer_make_a_pair() -> None:
    candidates, (asked, written) = public(prompts=6, answers=3), texts(6, 3)
    params = dpprefsyn(answers=3, gap={"rule": "absolute", "value": 0.0})
    found = chosen_pairs(written, asked, candidates, ONE, params)
    along = candidates.embeddings[:, :, 0]
    assert found["chosen"].tolist() == [f"answer {x} {a}" for x, a in enumerate(along.argmax(axis=1))]
    assert found["rejected"].tolist() == [f"answer {x} {a}" for x, a in enumerate(along.argmin(axis=1))]
    assert (found["gap"] > 0).all()


@pytest.mark.parametrize(("sign", "best", "worst"), [(1.0, 2, 0), (-1.0, 0, 2)])
def test_a_control_chooses_by_length_whatever_the_embeddings(sign: float, best: int, worst: int) -> None:
    candidates, (asked, written) = public(prompts=4, answers=3), texts(4, 3)
    lengths = written.assign(text=[f"{text}{'!' * (row % 3)}" for row, text in enumerate(written["text"])])
    params = dpprefsyn(answers=3, gap={"rule": "quantile", "value": 0.0})
    found = chosen_pairs(lengths, asked, candidates, LengthRule(sign), params)
    grown = lengths["text"].to_numpy().reshape(4, 3)
    assert found["chosen"].tolist() == grown[:, best].tolist()
    assert found["rejected"].tolist() == grown[:, worst].tolist()
    assert set(found["gap"]) == {2.0}


def test_what_was_saved_is_read_as_what_it_was() -> None:
    assert scorer_of(LengthRule(-1.0).arrays()) == LengthRule(-1.0)
    again = scorer_of(ONE.arrays())
    assert isinstance(again, Scorer)
    assert np.array_equal(again.heads, ONE.heads)


def test_win_probabilities_of_two_answers_are_one_together_and_drawn_heads_score_linearly() -> None:
    candidates = public(prompts=5, answers=2)
    both = Scorer(np.eye(DIM)[:2] * np.array([[3.0], [-2.0]]), np.array([0.75, 0.25]))
    wins = answer_scores(candidates, both, dpprefsyn(answers=2))
    assert wins.sum(axis=1) == pytest.approx(np.ones(5))
    d = candidates.embeddings[:, 0] - candidates.embeddings[:, 1]
    assert wins[:, 0] == pytest.approx(0.75 * sigmoid(3 * d[:, 0]) + 0.25 * sigmoid(-2 * d[:, 1]))
    drawn = answer_scores(candidates, both, dpprefsyn(answers=2, score="drawn_head"))
    linear = candidates.embeddings.astype(np.float64) @ both.heads.T
    matches = [np.isclose(drawn, linear[:, :, k]).all(axis=1) for k in (0, 1)]
    assert np.logical_or(*matches).all()


def test_a_topic_s_head_scores_its_prompts() -> None:
    candidates = Candidates(
        units(np.eye(DIM)[[0, 1]][:, None] * 3 + np.random.default_rng(0).normal(size=(2, 2, DIM)) * 0.3)
    )
    heads = Scorer(np.eye(DIM)[[2, 3]], np.full(2, 0.5), topics=np.eye(DIM)[[0, 1]])
    assert heads.topic_heads(candidates.middles).tolist() == [0, 1]
    wins = answer_scores(candidates, heads, dpprefsyn(answers=2))
    d = candidates.embeddings[:, 0] - candidates.embeddings[:, 1]
    assert wins[:, 0] == pytest.approx(sigmoid(np.array([d[0, 2], d[1, 3]])))
    with refuses("heads-without-topics"):
        ONE.topic_heads(candidates.middles)


def test_an_empty_answer_is_in_no_pair_and_one_answer_is_no_pair() -> None:
    candidates, (asked, written) = public(prompts=3, answers=3), texts(3, 3)
    holes = candidates.embeddings.copy()
    holes[0, 1:] = 0.0
    holes[1, 0] = 0.0
    found = chosen_pairs(
        written, asked, Candidates(holes), ONE, dpprefsyn(answers=3, gap={"rule": "absolute", "value": 0.0})
    )
    assert found["prompt"].tolist() == ["prompt 1", "prompt 2"]
    assert "answer 1 0" not in found[["chosen", "rejected"]].to_numpy()


@pytest.mark.parametrize("rule", [Gap(rule="quantile", value=0.0), Gap(rule="absolute", value=0.0)])
def test_answers_of_equal_score_are_no_preference(rule: Gap) -> None:
    assert large_gaps(np.array([0.0, 0.1, 0.0]), rule).tolist() == [False, True, False]
    with refuses("no-pair-far-enough-apart"):
        large_gaps(np.zeros(3), rule)


def test_gaps_are_kept_by_either_rule_and_none_is_refused() -> None:
    gaps = np.array([0.1, 0.2, 0.3, 0.4])
    assert large_gaps(gaps, Gap(rule="quantile", value=0.25)).tolist() == [False, True, True, True]
    assert large_gaps(gaps, Gap(rule="absolute", value=0.35)).tolist() == [False, False, False, True]
    with refuses("no-pair-far-enough-apart", value=0.5):
        large_gaps(gaps, Gap(rule="absolute", value=0.5))
    with refuses("no-pair-far-enough-apart"):
        large_gaps(gaps[:0], Gap(rule="absolute", value=0.5))


def test_a_scorer_comes_back_from_its_arrays_and_refuses_another_encoder_s_rows() -> None:
    scorer = Scorer(np.ones((2, 3)), np.array([0.25, 0.75]), np.ones((DIM, 3)))
    again = Scorer.of(scorer.arrays())
    rows = np.random.default_rng(0).normal(size=(4, DIM))
    assert again.score(rows) == pytest.approx(scorer.score(rows))
    assert again.topics is None
    with refuses("rows-do-not-fit-scorer", value=5):
        scorer.score(np.ones((1, 5)))
    assert scorer.score(rows, np.zeros(4, dtype=np.int64)) == pytest.approx(sigmoid(scorer.rewards(rows)[:, 0]))


def test_a_random_scorer_is_its_seed_s_and_rewards_are_a_plain_mean_over_used_heads() -> None:
    first = Scorer.random(DIM, 1)
    assert np.array_equal(first.heads, Scorer.random(DIM, 1).heads)
    assert not np.array_equal(first.heads, Scorer.random(DIM, 2).heads)
    three = Scorer(np.eye(DIM)[:3], np.array([0.9, 0.1, 0.0]))
    assert three.reward(np.eye(DIM)[:3]) == pytest.approx([0.5, 0.5, 0.0])


def test_candidates_that_are_all_alike_are_refused_and_the_radius_is_public() -> None:
    same = np.tile(units(np.ones((1, 1, DIM))), (3, 4, 1))
    with refuses("no-different-answers"):
        Candidates(same).radius(0.9)
    candidates = public()
    lengths = np.linalg.norm(candidates.differences, axis=1)
    assert np.mean(lengths <= candidates.radius(0.9)) == pytest.approx(0.9, abs=0.01)
    with refuses("more-heads-than-prompts", value=99):
        candidates.topics(99, 0)
