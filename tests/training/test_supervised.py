"""Supervised fine-tuning of an adapter with the bundled generator: the loss falls, padding is not scored."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.models.language_model import LanguageModel
from fedtext.params.training import CausalTraining, Lora
from fedtext.training.supervised import NO_TOKEN, padded_rows, train_on_texts
from tests.parameters import conf_base

TEXTS = [
    "Return the sum of the two numbers.",
    "Close the file and forget its name, then return the number of bytes.",
] * 8


def test_rows_are_padded_on_the_right_and_cut() -> None:
    tokenizer = LanguageModel("bundled:generator").tokenizer()
    rows = padded_rows(TEXTS[:2], tokenizer, 1000)
    lengths = [len(tokenizer(text)["input_ids"]) for text in TEXTS[:2]]
    assert [int((row != NO_TOKEN).sum()) for row in rows] == lengths
    assert (rows[0, lengths[0] :] == NO_TOKEN).all()
    assert padded_rows(TEXTS[:2], tokenizer, 5).shape == (2, 5)
    assert padded_rows([], tokenizer, 5).shape == (0, 0)


def test_the_adapter_learns_and_the_same_seed_repeats() -> None:
    def trained() -> tuple[dict, list]:
        params = conf_base(CausalTraining, epochs=20, batch_size=4, learning_rate=5e-3)
        adapter, history = train_on_texts(
            LanguageModel("bundled:generator"), TEXTS, params, conf_base(Lora, rank=4), seed=1, label="test"
        )
        return adapter.weights, history

    weights, history = trained()
    assert history[-1]["loss"] < 0.5 * history[0]["loss"]
    moved = [name for name, tensor in weights.items() if "lora_B" in name and bool(tensor.abs().max() > 0)]
    assert moved
    again, _ = trained()
    assert all(np.array_equal(weights[name], again[name]) for name in weights)


def test_no_texts_are_an_error() -> None:
    with pytest.raises(ValueError, match="no training rows"):
        train_on_texts(
            LanguageModel("bundled:generator"), [], conf_base(CausalTraining), conf_base(Lora), seed=0, label="test"
        )
