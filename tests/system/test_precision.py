from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedtext.system import precision
from fedtext.system.hardware import float16_packs
from fedtext.system.precision import decoding_copy, round_to_bfloat16, round_to_float16, scoring_copy

packs = pytest.mark.skipif(not float16_packs(torch.device("cpu")), reason="this CPU's torch packs no float16")


# A rounding, what it rounds to, and how many bits that has behind the first.
both = pytest.mark.parametrize(
    ("rounded", "dtype", "bits"), [(round_to_bfloat16, torch.bfloat16, 7), (round_to_float16, torch.float16, 10)]
)


@both
@given(values=st.lists(st.floats(-6e4, 6e4, width=32), min_size=1, max_size=20))
def test_rounding_goes_to_one_of_the_two_neighbours(rounded, dtype, bits, values):
    exact = torch.tensor(values, dtype=torch.float32)
    found = rounded(exact)
    assert found.dtype == dtype
    smallest = 1e-38 if dtype == torch.bfloat16 else 2**-24  # float16 has steps of that below 6e-5
    assert torch.all((found.float() - exact).abs() <= exact.abs() * 2.0**-bits + smallest)
    assert torch.equal(rounded(found.float()), found)


@both
def test_rounding_is_unbiased_where_nearest_loses_the_update(rounded, dtype, bits):
    weight, step = 0.03125, 0.03125 * 2.0**-bits
    update = step / 8
    total = torch.full((100_000,), weight + update)
    assert torch.all(total.to(dtype).float() == weight)
    kept = rounded(total).float().double().mean().item() - weight
    spread = step * np.sqrt(1 / 8 * 7 / 8 / len(total))
    assert abs(kept - update) < 4 * spread
    assert abs(kept - 1.1 * update) > 4 * spread


@both
def test_rounding_repeats(rounded, dtype, bits):
    values = torch.linspace(-3, 3, 1001)
    assert torch.equal(rounded(values), rounded(values))


@packs
def test_packed_products_read_float16_and_compute_float32(llama, monkeypatch):
    monkeypatch.setattr(precision, "is_bfloat16_faster", lambda device: False)
    with torch.no_grad():
        for parameter in llama.parameters():  # what float16 can say, so that nothing is rounded
            parameter.copy_(parameter.to(torch.float16).float())
    before = {name: tensor.clone() for name, tensor in llama.state_dict().items()}
    copied = decoding_copy(llama)
    linears = [name for name, module in llama.named_modules() if type(module) is torch.nn.Linear]
    assert len(linears) > 10
    assert not any(type(copied.get_submodule(name)) is torch.nn.Linear for name in linears)
    assert copied.model.embed_tokens.weight is llama.model.embed_tokens.weight  # only products have another copy
    ids = torch.tensor([[3, 4, 5, 6], [9, 8, 7, 6]])
    exact, packed = llama(ids).logits, copied(ids).logits
    assert packed.dtype == torch.float32
    assert (exact - packed).abs().max() < 1e-5 * exact.abs().max()
    assert all(torch.equal(before[name], tensor) for name, tensor in llama.state_dict().items())


@packs
@pytest.mark.parametrize("bias", [False, True])
def test_a_product_in_blocks_has_the_bits_of_the_whole(monkeypatch, bias):
    torch.manual_seed(0)
    linear, given = torch.nn.Linear(64, 100, bias=bias), torch.randn(9, 64)
    with torch.no_grad():
        whole = precision._packed_product(linear)(given)
        monkeypatch.setattr(precision, "OUTPUTS_AT_ONCE", 32)  # the last block is of 4
        product = precision._packed_product(linear)
        assert len(product.packed) == 4
        assert torch.equal(product(given), whole)
    assert (whole - linear(given)).abs().max() < 1e-3


@packs
def test_packed_products_keep_a_small_update_on_average(monkeypatch):
    from transformers import LlamaConfig, LlamaForCausalLM

    monkeypatch.setattr(precision, "is_bfloat16_faster", lambda device: False)
    config = LlamaConfig(
        vocab_size=50, hidden_size=64, intermediate_size=256, num_hidden_layers=1, num_attention_heads=1,
        num_key_value_heads=1,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    weight, update = 0.03125, 0.03125 * 2**-13  # an eighth of a float16 step
    with torch.no_grad():
        model.model.layers[0].mlp.up_proj.weight.fill_(weight + update)
    product = decoding_copy(model).model.layers[0].mlp.up_proj
    found = product(torch.ones(1, 64)).double().mean().item() / 64 - weight
    spread = weight * 2**-10 * np.sqrt(1 / 8 * 7 / 8 / (64 * 256))
    assert abs(found - update) < 4 * spread
    assert abs(found) > 4 * spread


def test_a_decoding_copy_is_made_only_where_it_pays(llama, monkeypatch):
    monkeypatch.setattr(precision, "is_bfloat16_faster", lambda device: False)
    monkeypatch.setattr(precision, "float16_packs", lambda device: False)
    assert decoding_copy(llama) is llama
    monkeypatch.setattr(precision, "float16_packs", lambda device: True)
    assert scoring_copy(llama) is llama
    monkeypatch.setattr(precision, "is_bfloat16_faster", lambda device: True)
    copied = decoding_copy(llama)
    assert copied is not llama
    assert scoring_copy(llama) is not llama
    assert llama.dtype == torch.float32
    assert {p.dtype for p in copied.parameters()} == {torch.bfloat16}
    assert {b.dtype for b in copied.buffers()} == {torch.float32}
    ids = torch.tensor([[3, 4, 5, 6]])
    exact, reduced = llama(ids).logits, copied(ids).logits.float()
    assert (exact - reduced).abs().max() < 0.1 * exact.std()


def test_tied_weights_stay_tied(tokenizer, monkeypatch):
    from transformers import LlamaConfig, LlamaForCausalLM

    monkeypatch.setattr(precision, "is_bfloat16_faster", lambda device: True)
    config = LlamaConfig(
        vocab_size=50, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
        num_key_value_heads=1, tie_word_embeddings=True,
    )  # fmt: skip
    copied = decoding_copy(LlamaForCausalLM(config))
    assert copied.lm_head.weight.data_ptr() == copied.model.embed_tokens.weight.data_ptr()
