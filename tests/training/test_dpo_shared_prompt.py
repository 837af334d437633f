from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM

from fedtext.training.dpo import collate, completion_log_probs, supports_packing
from fedtext.training.preference_pairs import tokenised


def log_probs_by_row(model, rows):
    """Summed completion log-probabilities from one plain forward per row: all chosen, then all rejected."""
    sums = []
    for side in ("chosen_ids", "rejected_ids"):
        for row in rows:
            ids = torch.tensor([row["prompt_ids"] + row[side]])
            logits = model(ids).logits[0, :-1].log_softmax(-1)
            scored = logits.gather(1, ids[0, 1:, None])[len(row["prompt_ids"]) - 1 :, 0]
            sums.append(scored.sum())
    return torch.stack(sums)


def packed_log_probs(model, rows, packed=True):
    batch = collate(rows)
    labels = batch["input_ids"].masked_fill(batch.pop("completion_mask") == 0, -100)
    options = {"use_cache": False, "fused_lm_head": True}  # TRL's, not needed
    return completion_log_probs(model, packed=packed, labels=labels, **options, **batch).log_probs


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_log_probabilities_are_those_of_separate_rows(architecture, attention, request, pairs):
    model, tokenizer = request.getfixturevalue(architecture).load()
    model.set_attn_implementation(attention)
    rows = tokenised(pairs, tokenizer)
    with torch.no_grad():
        expected = log_probs_by_row(model, rows)
        packed, separate = (packed_log_probs(model, rows, packed) for packed in (True, False))
    assert torch.allclose(packed.sum(1), expected, atol=1e-4)
    assert torch.allclose(separate, packed, atol=1e-4)
    assert packed.shape == separate.shape == (20, max(len(r[s]) for r in rows for s in ("chosen_ids", "rejected_ids")))


def test_gradients_are_those_of_separate_rows(llama, pairs):
    rows = tokenised(pairs, llama.tokenizer)
    gradients = []
    for score in (log_probs_by_row, lambda model, rows: packed_log_probs(model, rows).sum(1)):
        model, _ = llama.load()
        (score(model, rows) * torch.linspace(-1, 1, 20)).sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    assert torch.allclose(gradients[0], gradients[1], atol=1e-4 * float(gradients[0].abs().max()))


def test_a_branch_never_sees_the_other(llama, pairs):
    model, tokenizer = llama.load()
    rows = tokenised(pairs, tokenizer)
    changed = [{**row, "rejected_ids": row["rejected_ids"][::-1]} for row in rows]
    with torch.no_grad():
        before, after = packed_log_probs(model, rows), packed_log_probs(model, changed)
    assert torch.equal(before[:10], after[:10])
    assert not torch.allclose(before[10:], after[10:])


def test_a_line_holds_a_prompt_once_and_no_padding_between_pairs(llama, pairs):
    rows = tokenised(pairs, llama.tokenizer)[:3]
    seen = {}
    model, _ = llama.load()
    model.register_forward_pre_hook(lambda _, args, kwargs: seen.update(kwargs), with_kwargs=True)
    model.lm_head.register_forward_hook(lambda _, args, logits: seen.update(scored=logits.shape[0]))
    packed_log_probs(model, rows)
    completions = sum(len(row[side]) for row in rows for side in ("chosen_ids", "rejected_ids"))
    assert seen["input_ids"].shape == (1, sum(len(row["prompt_ids"]) - 1 for row in rows) + completions)
    assert seen["scored"] == completions


def test_the_batch_layout():
    batch = collate(
        [
            {"prompt_ids": [5, 6, 7], "chosen_ids": [8, 9], "rejected_ids": [1]},
            {"prompt_ids": [4, 3], "chosen_ids": [2], "rejected_ids": [1, 2]},
        ]
    )
    assert batch["context_ids"].tolist() == [[5, 6], [0, 4]]
    assert batch["context_mask"].tolist() == [[1, 1], [0, 1]]
    assert batch["input_ids"].tolist() == [[7, 8, 9], [3, 2, 0], [7, 1, 0], [3, 1, 2]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0], [1, 1, 0], [1, 1, 1]]
    assert batch["completion_mask"].tolist() == [[0, 1, 1], [0, 1, 0], [0, 1, 0], [0, 1, 1]]


def test_a_prompt_of_one_token_needs_no_context(llama):
    model, _ = llama.load()
    rows = [{"prompt_ids": [0], "chosen_ids": [8, 9], "rejected_ids": [7, 6, 5]}]
    with torch.no_grad():
        assert torch.allclose(packed_log_probs(model, rows).sum(1), log_probs_by_row(model, rows), atol=1e-5)


def test_reference_columns_travel_with_their_pairs():
    row = {"prompt_ids": [5, 6], "chosen_ids": [8], "rejected_ids": [1]}
    batch = collate([{**row, "ref_chosen_logps": -1.5, "ref_rejected_logps": -2.5}])
    assert np.isclose(batch["ref_chosen_logps"], -1.5)
    assert np.isclose(batch["ref_rejected_logps"], -2.5)
    assert "ref_chosen_logps" not in collate([row])


def sliding_window(tokenizer):
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
    config = MistralConfig(vocab_size=len(tokenizer), intermediate_size=48, head_dim=16, sliding_window=8, **shape)
    model = MistralForCausalLM(config).eval()
    for p in model.parameters():
        p.data.mul_(5)  # far enough from uniform for context to matter
    return model


def test_models_that_read_a_packed_row_differently_get_two_rows(llama, gpt2, pairs):
    for base in (llama, gpt2):
        model, tokenizer = base.load()
        rows = tokenised(pairs, tokenizer)
        assert supports_packing(model, rows[0])
        assert supports_packing(model.to(torch.bfloat16), rows[0])
    windowed = sliding_window(tokenizer)
    assert not supports_packing(windowed, rows[0])
    with torch.no_grad():
        assert torch.allclose(
            packed_log_probs(windowed, rows, False).sum(1), log_probs_by_row(windowed, rows), atol=1e-3
        )


def test_attention_that_takes_no_mask_gets_two_rows(llama, pairs):
    model, tokenizer = llama.load()
    model.config._attn_implementation = "flash_attention_2"
    assert not supports_packing(model, tokenised(pairs, tokenizer)[0])
