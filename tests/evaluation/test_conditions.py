from __future__ import annotations

import json

import numpy as np
import pytest

from fedtext.evaluation.conditions import (
    CONDITIONS,
    compare_conditions,
    gap_closed,
    held_out_sample,
    score_conditions,
)
from fedtext.evaluation.next_token import NextTokenCounts
from fedtext.params.evaluation import Evaluation
from fedtext.params.training import CausalTraining
from tests.evaluation.conftest import sentence

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
    separate = 1.96 * np.hypot(a.summary()["standard_error"], b.summary()["standard_error"])
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
    params = Evaluation(max_eval_samples=50)
    assert held_out_sample(20, params).tolist() == list(range(20))
    drawn = held_out_sample(1000, params)
    assert len(set(drawn)) == 50
    assert drawn.tolist() == sorted(drawn)
    assert drawn.max() > 500
    assert drawn.tolist() == held_out_sample(1000, params).tolist()


def test_whole_table(llama):
    rng = np.random.default_rng(4)
    private, held_out = ([sentence(rng, 10) for _ in range(n)] for n in (100, 60))
    noise = ["".join(rng.choice(list("xyz qjk"), size=40)) for _ in range(60)]
    half = [*private[:30], *noise[:30]]
    conditions = {
        "eps0": [],
        "public_control": noise,
        "untuned_control": noise[::-1],
        "matched_control": noise[::2],
        "synthetic": half,
        "private": private,
    }
    params = Evaluation(training=CausalTraining(epochs=4, batch_size=8, learning_rate=1e-2), published_metric=True)
    result = score_conditions(
        llama, conditions, held_out, params, length=12, seed=0, clients=np.repeat(np.arange(30), 2)
    )
    assert set(result["conditions"]) == set(CONDITIONS)
    table = result["conditions"]
    assert table["private"]["top_1"] > table["synthetic"]["top_1"] > table["public_control"]["top_1"]
    assert set(result["gap_closed"]) == {"public_control", "untuned_control", "matched_control", "synthetic"}
    assert 0 < result["gap_closed"]["synthetic"]["share"] < 1
    assert result["gains"]["synthetic"]["public_control"]["measurable"]
    assert "published_top_1" in table["eps0"]
    assert json.loads(json.dumps(result)) == result
    assert not any(text in json.dumps(result) for text in held_out)
