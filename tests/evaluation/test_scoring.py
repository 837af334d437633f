from __future__ import annotations

import numpy as np
import pytest

from fedtext.evaluation.fine_tuning import fine_tune_and_count
from fedtext.evaluation.next_token import next_token_accuracy, text_windows
from fedtext.evaluation.scoring import (
    doubly_tokenised,
    evenly_spaced,
    fine_tune_and_score_as_published,
    held_out_sample,
    published_accuracy,
)
from fedtext.params.evaluation import Evaluation
from fedtext.params.training import TunedTraining
from tests.evaluation.conftest import sentence
from tests.parameters import conf_base


def test_held_out_sample_is_bounded_sorted_and_repeatable():
    params = conf_base(Evaluation, max_eval_samples=50)
    assert held_out_sample(20, params).tolist() == list(range(20))
    drawn = held_out_sample(1000, params)
    assert len(set(drawn)) == 50
    assert drawn.tolist() == sorted(drawn)
    assert drawn.max() > 500
    assert drawn.tolist() == held_out_sample(1000, params).tolist()


def test_as_many_texts_as_asked_and_spread_over_all() -> None:
    texts = [str(i) for i in range(100)]
    assert evenly_spaced(texts, 3) == ["0", "49", "99"]
    assert evenly_spaced(texts, 200) == texts
    assert evenly_spaced([], 5) == []


LENGTH = 64


def _texts(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [sentence(rng, 40) for _ in range(count)]


def test_more_than_half_of_the_window_is_filler(tokenizer):
    """A window of 64 holds about a third as many real tokens as the correct row does."""
    text = _texts(1)[0]
    row = doubly_tokenised(tokenizer, [text], LENGTH)[0]
    assert len(row) == LENGTH
    once = text_windows(tokenizer, [text], 1000).rows[0]
    assert len(doubly_tokenised(tokenizer, [text], 1000)[0]) > 2.5 * len(once)


def test_short_text_ends_with_a_scored_eos(tokenizer):
    row = doubly_tokenised(tokenizer, ["a list"], LENGTH)[0]
    assert row[-1] == tokenizer.eos_token_id


def test_keys_cannot_be_mistaken_for_the_correct_metric(llama):
    model, tokenizer = llama.load()
    published = published_accuracy(model, tokenizer, _texts(4), length=LENGTH)
    assert all(key.startswith("published_") for key in published)
    assert not published.keys() & next_token_accuracy(model, tokenizer, _texts(4), length=LENGTH).keys()


def test_filler_inflates_accuracy(llama):
    """Same model, recipe and texts, barely trained: the published figure is already far above the correct one."""
    params = conf_base(Evaluation, training=conf_base(TunedTraining, learning_rates=[1e-2], epochs=4, batch_size=16))
    recipe = {"length": LENGTH - 1, "seed": 0}
    train, held_out = _texts(100, seed=1), _texts(20, seed=2)
    counts, _ = fine_tune_and_count(llama, {"test": train}, held_out, params, **recipe)["test"]
    correct = counts.summary()["top_1"]
    published = fine_tune_and_score_as_published(llama, train, held_out, params, label="test", **recipe)[
        "published_top_1"
    ]
    assert published > 1.5 * correct


def test_no_training_texts_leave_the_model_untouched(llama):
    model, tokenizer = llama.load()
    untouched = fine_tune_and_score_as_published(
        llama, [], _texts(4), conf_base(Evaluation), length=LENGTH, seed=0, label="t"
    )
    assert untouched == pytest.approx(published_accuracy(model, tokenizer, _texts(4), length=LENGTH))
