from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedtext.system import precision
from fedtext.system.precision import decoding_copy, round_to_bfloat16


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
def test_rounding_goes_to_one_of_the_two_neighbours(values):
    exact = torch.tensor(values, dtype=torch.float32)
    rounded = round_to_bfloat16(exact)
    assert rounded.dtype == torch.bfloat16
    assert torch.all((rounded.float() - exact).abs() <= exact.abs() * 2**-7 + 1e-38)
    assert torch.equal(round_to_bfloat16(rounded.float()), rounded)


def test_rounding_is_unbiased_where_nearest_loses_the_update():
    weight, update = 0.03125, 0.03125 * 2**-10  # an eighth of a bfloat16 step
    total = torch.full((100_000,), weight + update)
    assert torch.all(total.to(torch.bfloat16).float() == weight)
    kept = round_to_bfloat16(total).float().double().mean().item() - weight
    spread = weight * 2**-7 * np.sqrt(1 / 8 * 7 / 8 / len(total))
    assert abs(kept - update) < 4 * spread
    assert abs(kept - 1.1 * update) > 4 * spread


def test_rounding_repeats():
    values = torch.linspace(-3, 3, 1001)
    assert torch.equal(round_to_bfloat16(values), round_to_bfloat16(values))


def test_a_decoding_copy_is_made_only_where_it_pays(llama, monkeypatch):
    monkeypatch.setattr(precision, "bfloat16_pays", lambda device: False)
    assert decoding_copy(llama) is llama
    monkeypatch.setattr(precision, "bfloat16_pays", lambda device: True)
    copied = decoding_copy(llama)
    assert copied is not llama
    assert llama.dtype == torch.float32
    assert {p.dtype for p in copied.parameters()} == {torch.bfloat16}
    assert {b.dtype for b in copied.buffers()} == {torch.float32}
    ids = torch.tensor([[3, 4, 5, 6]])
    exact, reduced = llama(ids).logits, copied(ids).logits.float()
    assert (exact - reduced).abs().max() < 0.1 * exact.std()


def test_tied_weights_stay_tied(tokenizer, monkeypatch):
    from transformers import LlamaConfig, LlamaForCausalLM

    monkeypatch.setattr(precision, "bfloat16_pays", lambda device: True)
    config = LlamaConfig(
        vocab_size=50, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
        num_key_value_heads=1, tie_word_embeddings=True,
    )  # fmt: skip
    copied = decoding_copy(LlamaForCausalLM(config))
    assert copied.lm_head.weight.data_ptr() == copied.model.embed_tokens.weight.data_ptr()
