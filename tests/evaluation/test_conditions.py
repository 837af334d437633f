from __future__ import annotations

import numpy as np
import pytest

from fedtext.evaluation.conditions import (
    compare_conditions,
    gap_closed,
    held_out_sample,
)
from fedtext.evaluation.next_token import NextTokenCounts
from fedtext.params.evaluation import Evaluation
from tests.parameters import conf_base

TOKENS = 60


def counts(accuracy: float, texts: int = 400, seed: int = 0, shared: int = 9) -> NextTokenCounts:
    """Texts whose difficulty all conditions share, so that differences are far less noisy than accuracies."""
    difficulty = np.random.default_rng(shared).normal(0, 0.08, texts)
    right = np.random.default_rng(seed).binomial(TOKENS, np.clip(accuracy + difficulty, 0, 1))
    return NextTokenCounts((1,), right[:, None], np.full(texts, TOKENS), np.zeros(texts))


def test_share_of_the_gap_is_its_definition():
    public, private, ours = counts(0.10, seed=1), counts(0.20, seed=2), counts(0.15, seed=3)
    expected = (ours.correct.sum() - public.correct.sum()) / (private.correct.sum() - public.correct.sum())
    closed = gap_closed(ours, public, private)
    assert closed["share"] == pytest.approx(expected)
    assert closed["low"] < 0.5 < closed["high"]
    assert closed["high"] - closed["low"] < 0.3


def test_gap_within_noise_has_no_share_and_says_why():
    closed = gap_closed(counts(0.15, seed=3), counts(0.15, seed=1), counts(0.15, seed=2))
    assert closed["share"] is None
    assert "no gap to close" in closed["reason"]


def test_gap_of_the_wrong_sign_has_no_share():
    assert gap_closed(counts(0.15, seed=3), counts(0.20, seed=1), counts(0.10, seed=2))["share"] is None


def test_paired_differences_see_what_separate_intervals_would_miss():
    a, b = counts(0.155, seed=1), counts(0.145, seed=2)
    gain = compare_conditions({"eps0": b, "synthetic": a})["gains"]["synthetic"]["eps0"]
    assert gain["measurable"]
    separate = np.hypot(*(c.summary()["high"] - c.summary()["top_1"] for c in (a, b)))
    assert gain["high"] - gain["estimate"] < 0.8 * separate


def test_equal_conditions_are_rarely_called_different():
    called = [
        compare_conditions({"eps0": counts(0.15, seed=2 * s), "synthetic": counts(0.15, seed=2 * s + 1)})["gains"][
            "synthetic"
        ]["eps0"]["measurable"]
        for s in range(200)
    ]
    assert np.mean(called) < 0.1


def test_conditions_scored_on_different_texts_are_refused():
    with pytest.raises(ValueError, match="different held-out texts"):
        compare_conditions({"eps0": counts(0.1), "synthetic": counts(0.1, texts=399)})


def test_held_out_sample_is_bounded_sorted_and_repeatable():
    params = conf_base(Evaluation, max_eval_samples=50)
    assert held_out_sample(20, params).tolist() == list(range(20))
    drawn = held_out_sample(1000, params)
    assert len(set(drawn)) == 50
    assert drawn.tolist() == sorted(drawn)
    assert drawn.max() > 500
    assert drawn.tolist() == held_out_sample(1000, params).tolist()


def test_the_judged_condition_is_the_algorithm_s_own():
    compared = compare_conditions({"eps0": counts(0.1), "trained_model": counts(0.12, seed=1)})
    assert compared["judged"] == "trained_model"
    assert compare_conditions({"eps0": counts(0.1), "private": counts(0.2, seed=1)})["judged"] is None
