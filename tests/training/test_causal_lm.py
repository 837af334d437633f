from __future__ import annotations

import numpy as np
import pytest
import torch

from fedtext.params.training import CausalTraining
from fedtext.training import causal_lm
from fedtext.training.causal_lm import (
    _batches,
    _loss,
    _of_lines,
    _of_rows,
    _supports_packing,
    peak_share,
    train_causal_lm,
)
from tests.parameters import conf_base
from tests.refusals import refuses

FAST = conf_base(CausalTraining, epochs=3, batch_size=8, learning_rate=1e-2)


def weights(model):
    return torch.cat([p.detach().flatten().cpu() for p in model.parameters()])


@pytest.fixture
def rows(tokenizer):
    """Rows that can be learned: each repeats one token pair."""
    rng = np.random.default_rng(0)
    return np.tile(rng.integers(3, len(tokenizer), size=(64, 2)), (1, 8))


def test_the_loss_falls_from_chance(llama, rows):
    model, tokenizer = llama.load()
    history = train_causal_lm(
        model, rows, conf_base(CausalTraining, epochs=12, batch_size=8, learning_rate=1e-2), seed=0
    )
    assert history[0]["loss"] < np.log(len(tokenizer)) + 0.5
    assert history[-1]["loss"] < 0.6 * history[0]["loss"]
    assert not model.training


def test_history_covers_every_step_once(llama, rows):
    model, _ = llama.load()
    history = train_causal_lm(
        model, rows, conf_base(CausalTraining, epochs=4, batch_size=8, learning_rate=1e-3), seed=0
    )
    assert [entry["step"] for entry in history] == [25, 32]
    assert all(np.isfinite(entry["loss"]) for entry in history)


def test_equal_seeds_give_equal_weights_and_other_seeds_others(llama, gpt2, rows):
    for base in (llama, gpt2):  # GPT-2 has dropout
        trained = []
        for seed in (5, 5, 6):
            model, _ = base.load()
            torch.rand(seed)  # whatever was drawn before must not matter
            train_causal_lm(model, rows, FAST, seed=seed)
            trained.append(weights(model))
        assert torch.equal(trained[0], trained[1])
        assert not torch.equal(trained[0], trained[2])


def test_padding_is_neither_scored_nor_attended_to(llama, rows):
    pad = llama.tokenizer.pad_token_id
    padded = np.concatenate([rows, np.full_like(rows, pad)], axis=1)
    plain, with_padding = llama.load()[0], llama.load()[0]
    once = conf_base(CausalTraining, epochs=1, batch_size=8, learning_rate=1e-3)
    expected = train_causal_lm(plain, rows, once, seed=0)
    history = train_causal_lm(with_padding, padded, once, seed=0, pad_token_id=pad)
    assert history[0]["loss"] == pytest.approx(expected[0]["loss"], rel=2e-3)
    more = conf_base(CausalTraining, epochs=3, batch_size=8, learning_rate=1e-2)
    ignored = train_causal_lm(llama.load()[0], padded, more, seed=0, pad_token_id=pad)
    scored = train_causal_lm(llama.load()[0], padded, more, seed=0)
    assert scored[-1]["loss"] < 0.8 * ignored[-1]["loss"]  # a scored padding is soon learned


def test_the_loss_of_padded_rows_is_the_models_own(llama, gpt2, rows):
    ids = torch.from_numpy(rows[:6].copy())
    for i, length in enumerate((16, 3, 9, 2, 12, 16)):
        ids[i, length:] = -1
    for base in (llama, gpt2):
        model, _ = base.load()  # in evaluation mode: no dropout
        known = model(
            input_ids=ids.clamp(min=0), attention_mask=(ids >= 0).long(), labels=ids.masked_fill(ids < 0, -100)
        )
        for packed in (True, False):
            assert _loss(model, ids, -1, packed=packed).item() == pytest.approx(known.loss.item(), rel=1e-5)


def test_the_head_meets_what_is_scored_and_nothing_else(llama, rows, monkeypatch):
    monkeypatch.setattr(causal_lm, "row_multiple", lambda device: 1)  # whatever this processor likes best
    model, tokenizer = llama.load()
    ids = torch.from_numpy(rows[:2].copy())
    ids[1, 5:] = -1
    for score in (_of_rows, _of_lines):
        logits, labels = score(model, ids, ids >= 0)
        assert logits.shape == (15 + 4, len(tokenizer))
        assert labels.tolist() == [*rows[0, 1:], *rows[1, 1:5]]
        alone = model(input_ids=ids[1:, :5]).logits[0, :-1]  # and the head is as it was
        torch.testing.assert_close(logits[15:], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("multiple", [1, 16])
def test_gradients_of_lines_are_those_of_rows(architecture, attention, multiple, rows, request, monkeypatch):
    monkeypatch.setattr(causal_lm, "row_multiple", lambda device: multiple)
    ids = torch.from_numpy(rows[:6].copy())
    for i, length in enumerate((16, 3, 9, 2, 12, 1)):
        ids[i, length:] = -1
    ids[0, :4] = -2 - ids[0, :4]  # shown, and not scored
    found = []
    for packed in (True, False):
        model, _ = request.getfixturevalue(architecture).load()
        model.set_attn_implementation(attention)
        _loss(model, ids, -1, packed=packed).backward()
        found.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-5 * float(found[1].abs().max()))


@pytest.mark.parametrize("length", [2, 7, 16])
def test_where_shapes_are_to_be_few_products_have_a_multiple_of_16_rows(length, llama, rows, monkeypatch):
    monkeypatch.setattr("fedtext.system.hardware.is_bfloat16_faster", lambda device: True)
    model, _ = llama.load()
    ids = torch.from_numpy(rows[:3].copy())
    ids[1, length:] = -1
    ids[2, :4] = -2 - ids[2, :4]  # shown, and not scored
    shapes = []
    for part in (model.model.layers[0].mlp.up_proj, model.lm_head):
        part.register_forward_hook(lambda _, given, said: shapes.append(said.shape[:-1].numel()))
    logits, labels = _of_lines(model, ids, ids != -1)
    assert len(shapes) == 2
    assert all(rows % 16 == 0 for rows in (*shapes, len(logits)))
    assert sorted(labels[labels >= 0].tolist()) == sorted([*rows[0, 1:], *rows[1, 1:length], *rows[2, 4:]])


def test_a_model_with_a_window_is_trained_on_rows(llama, gpt2, rows, tokenizer):
    from transformers import MistralConfig, MistralForCausalLM

    for base in (llama, gpt2):
        assert _supports_packing(base.load()[0], rows, -1)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
    windowed = MistralForCausalLM(
        MistralConfig(vocab_size=len(tokenizer), intermediate_size=48, head_dim=16, sliding_window=4, **shape)
    )
    for p in windowed.parameters():
        p.data.mul_(5)  # far enough from uniform for context to matter
    assert not _supports_packing(windowed, rows, -1)
    assert windowed.training  # as train_causal_lm has it


def test_padding_may_be_marked_by_a_number_that_is_no_token(llama, rows):
    padded = {
        mark: np.concatenate([rows, np.full_like(rows, mark)], axis=1) for mark in (-1, llama.tokenizer.pad_token_id)
    }
    once = conf_base(CausalTraining, epochs=1, batch_size=8, learning_rate=1e-3)
    losses = [
        train_causal_lm(llama.load()[0], matrix, once, seed=0, pad_token_id=mark)[0]["loss"]
        for mark, matrix in padded.items()
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_left_padding_is_not_attended_to(llama, rows):
    pad = llama.tokenizer.pad_token_id
    once = conf_base(CausalTraining, epochs=1, batch_size=8, learning_rate=1e-3)
    padded = np.concatenate([np.full_like(rows, pad), rows], axis=1)
    expected = train_causal_lm(llama.load()[0], rows, once, seed=0)
    history = train_causal_lm(llama.load()[0], padded, once, seed=0, pad_token_id=pad)
    # the first real token is scored too, from a padding position, hence the looser bound
    assert history[0]["loss"] == pytest.approx(expected[0]["loss"], rel=5e-2)


def test_half_precision_weights_are_trained_in_float32(llama, rows):
    model, _ = llama.load()
    train_causal_lm(model.to(torch.bfloat16), rows, FAST, seed=0)
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_only_what_requires_a_gradient_moves(llama, rows):
    model, _ = llama.load()
    frozen = model.get_input_embeddings().weight.requires_grad_(False)
    before = frozen.clone()
    train_causal_lm(model, rows, FAST, seed=0)
    assert torch.equal(frozen.cpu(), before.cpu())


@pytest.mark.parametrize(
    ("rows", "batch", "epochs", "sizes"),
    [(10, 4, 1, [4, 4]), (3, 8, 2, [3, 3]), (10, 5, 1.5, [5, 5, 5]), (8, 4, 0.25, [4])],
)
def test_steps_of_whole_and_partial_epochs(rows, batch, epochs, sizes):
    batches = list(_batches(rows, conf_base(CausalTraining, epochs=epochs, batch_size=batch), seed=0))
    assert [len(b) for b in batches] == sizes
    assert max(np.concatenate(batches)) < rows


@pytest.mark.parametrize(
    ("steps", "warmup_share", "shares"),
    [
        (1, 0.05, [1.0]),
        (2, 0.0, [0.75, 0.25]),
        (4, 0.5, [0.5, 1.0, 0.75, 0.25]),
    ],
)
def test_the_learning_rate_rises_to_its_peak_and_falls_towards_zero(steps, warmup_share, shares):
    assert [peak_share(step, steps, warmup_share) for step in range(1, steps + 1)] == pytest.approx(shares)


def test_a_training_of_one_step_moves_the_model(llama, rows):
    model, _ = llama.load()
    before = weights(model.float())
    train_causal_lm(model, rows[:8], conf_base(CausalTraining, epochs=1, batch_size=8, learning_rate=1e-3), seed=0)
    assert not torch.equal(weights(model), before)


def test_an_epoch_shows_every_row_once_in_a_fresh_order():
    batches = list(_batches(12, conf_base(CausalTraining, epochs=2, batch_size=4), seed=0))
    first, second = np.concatenate(batches[:3]), np.concatenate(batches[3:])
    assert sorted(first) == sorted(second) == list(range(12))
    assert list(first) != list(second)


def test_no_rows_is_an_error(llama):
    model, _ = llama.load()
    with refuses("no-training-rows"):
        train_causal_lm(model, np.zeros((0, 9), dtype=np.int64), FAST, seed=0, label="on-device")


def test_a_text_longer_than_the_model_reads_is_refused(llama):
    model, _ = llama.load()
    with refuses("text-too-long"):
        train_causal_lm(model, np.zeros((2, 257), dtype=np.int64), conf_base(CausalTraining), seed=0, label="on-device")


def test_padded_rows_are_not_compiled_for(llama, rows):
    with refuses("compiled-with-padding"):
        train_causal_lm(llama.load()[0], rows, conf_base(CausalTraining), seed=0, pad_token_id=-1, compiled=True)


@pytest.mark.slow
def test_compiled_training_is_the_same(llama, rows):
    params = conf_base(CausalTraining, epochs=1, batch_size=4, learning_rate=1e-3)
    plain, compiled = (
        train_causal_lm(llama.load()[0], rows, params, seed=0, compiled=asked) for asked in (False, True)
    )
    assert compiled[-1]["loss"] == pytest.approx(plain[-1]["loss"], abs=1e-4)


def test_a_diverging_loss_is_an_error(llama, rows):
    model, _ = llama.load()
    with torch.no_grad():
        model.get_input_embeddings().weight.fill_(float("nan"))
    with refuses("causal-loss-not-finite"):
        train_causal_lm(model, rows, FAST, seed=0)


def test_nothing_is_printed(llama, rows, capfd, monkeypatch, recwarn):
    monkeypatch.setenv("FEDTEXT_PROGRESS", "0")
    train_causal_lm(llama.load()[0], rows, FAST, seed=0)
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list
