"""Supervised fine-tuning of an adapter with the bundled generator: the loss falls, padding is not scored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fedtext.models.language_model import LanguageModel
from fedtext.params.training import CausalTraining, Lora
from fedtext.training import supervised
from fedtext.training.client_gradients import as_unscored
from fedtext.training.supervised import NO_TOKEN, padded_rows, rows_behind_prompts, train_on_texts
from tests.parameters import conf_base
from tests.refusals import refuses

TEXTS = [
    "Return the sum of the two numbers.",
    "Close the file and forget its name, then return the number of bytes.",
] * 8


def test_rows_are_padded_on_the_right_and_none_is_cut() -> None:
    tokenizer = LanguageModel("bundled:generator").tokenizer()
    rows = padded_rows(TEXTS[:2], tokenizer)
    lengths = [len(tokenizer(text)["input_ids"]) for text in TEXTS[:2]]
    assert [int((row != NO_TOKEN).sum()) for row in rows] == lengths
    assert (rows[0, lengths[0] :] == NO_TOKEN).all()
    assert padded_rows([], tokenizer).shape == (0, 0)
    long = " ".join(TEXTS * 10)
    assert padded_rows([long], tokenizer).shape == (1, len(tokenizer(long)["input_ids"]))


@pytest.mark.slow
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


def test_all_weights_learn_where_no_adapter_is_asked_for(llama: Any) -> None:
    params = conf_base(CausalTraining, epochs=12, batch_size=4, learning_rate=5e-3)
    trained, history = train_on_texts(llama, TEXTS, params, None, seed=1, label="test")
    assert history[-1]["loss"] < history[0]["loss"]
    before = dict(llama.load()[0].named_parameters())
    assert set(trained.weights) == set(before)
    assert all(not np.array_equal(trained.weights[name], before[name].detach()) for name in before)


def test_no_texts_are_an_error() -> None:
    with refuses("no-training-rows"):
        train_on_texts(
            LanguageModel("bundled:generator"), [], conf_base(CausalTraining), conf_base(Lora), seed=0, label="test"
        )


LONG = "Return the number of bytes. " * 300
CUT = [  # texts, their prompts: the answer stands at the end, where a tokenizer that cuts takes it away
    ([f"{LONG}The answer."], None),
    (["The answer."], [LONG]),
    ([TEXTS[0], "The answer."], ["Read.", LONG]),
    ([LONG], ["Read."]),
]


@pytest.mark.parametrize(("texts", "prompts"), CUT, ids=["a list", "a prompt", "one of two", "an answer"])
def test_a_text_whose_answer_does_not_fit_is_refused_before_training(
    texts: list[str], prompts: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "train_causal_lm", lambda *_, **__: pytest.fail("it trains"))
    with refuses("rows-too-long"):
        train_on_texts(
            LanguageModel("bundled:generator"),
            texts,
            conf_base(CausalTraining),
            conf_base(Lora),
            seed=0,
            label="tuned",
            prompts=prompts,
        )


def test_a_row_without_a_scored_token_is_refused() -> None:
    """Its loss would be a mean over nothing, and the remedy a lower learning rate."""
    with refuses("rows-without-answer"):
        train_on_texts(
            LanguageModel("bundled:generator"),
            [" sum.", ""],
            conf_base(CausalTraining),
            conf_base(Lora),
            seed=0,
            label="tuned",
            prompts=["Return the", "Return the"],
        )


def test_a_prompt_s_tokens_are_shown_and_not_scored() -> None:
    base = LanguageModel("bundled:generator")
    model, tokenizer = base.load()
    prompts, answers = ["Return the", "Close the file and"], [" sum of the two numbers.", " forget it."]
    rows = rows_behind_prompts(prompts, answers, tokenizer)
    shown = [tokenizer(prompt)["input_ids"] for prompt in prompts]
    for row, ids, prompt, answer in zip(rows, shown, prompts, answers, strict=True):
        assert as_unscored(row[: len(ids)]).tolist() == ids
        assert (
            row[len(ids) :][row[len(ids) :] != NO_TOKEN].tolist() == tokenizer(prompt + answer)["input_ids"][len(ids) :]
        )
    params = conf_base(CausalTraining, epochs=1, batch_size=2, learning_rate=1e-9)
    _, history = train_on_texts(base, answers, params, conf_base(Lora, rank=2), seed=0, label="x", prompts=prompts)
    expected = []
    for prompt, answer in zip(prompts, answers, strict=True):
        ids = torch.tensor([tokenizer(prompt + answer)["input_ids"]], device=model.device)
        with torch.no_grad():
            log_probs = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        expected += log_probs[len(tokenizer(prompt)["input_ids"]) - 1 :].tolist()
    assert history[0]["loss"] == pytest.approx(-np.mean(expected), rel=0.02)
    _, whole = train_on_texts(
        base, [p + a for p, a in zip(prompts, answers, strict=True)], params, conf_base(Lora, rank=2), seed=0, label="x"
    )
    assert whole[0]["loss"] != pytest.approx(history[0]["loss"], rel=0.02)
