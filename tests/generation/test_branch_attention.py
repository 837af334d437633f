from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from fedtext.generation import branch_attention as module
from fedtext.generation.branch_attention import NAME, PLAIN, branch_attention, step_of
from fedtext.generation.decoding import decode
from fedtext.generation.kv_cache import Layout, new_cache
from tests.generation.conftest import tiny
from tests.generation.test_decoding import PROMPTS, draws, never, padded

BLOCKED = torch.finfo(torch.float32).min


def written(model, responses: int = 5) -> torch.Tensor:
    uniforms = draws(len(PROMPTS) * responses)
    return decode(model, *padded(PROMPTS), uniforms, temperature=1.0, top_p=1.0, min_p=0.0, is_complete=never)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_it_writes_what_the_models_own_attention_writes(tokenizer, kind):
    model = tiny(kind, tokenizer)
    plain = written(model)
    with branch_attention(model):
        assert torch.equal(written(model), plain)


def test_no_key_of_a_prompt_is_copied_for_a_branch_or_a_head(llama, monkeypatch):
    import transformers.integrations.sdpa_attention as theirs

    copied = []
    kept = theirs.repeat_kv
    monkeypatch.setattr(theirs, "repeat_kv", lambda states, n: copied.append(states.shape[0]) or kept(states, n))
    with branch_attention(llama):
        written(llama)
    assert copied == [len(PROMPTS)] * 2 * llama.config.num_hidden_layers, "each prompt's keys and values, once"


@pytest.fixture
def two_prompts():
    """A layer at its second step: three branches of the first prompt and one of the second, whose start is padding."""
    padding = torch.zeros(2, 6)
    padding[1, :2] = BLOCKED
    cache = new_cache(Layout(padding, torch.tensor([0, 0, 0, 1])), room=4, in_parts=True)
    torch.manual_seed(0)
    cache.update(torch.randn(2, 2, 6, 8), torch.randn(2, 2, 6, 8), 0)
    for _ in range(2):
        own = cache.update(torch.randn(4, 2, 1, 8), torch.randn(4, 2, 1, 8), 0)
    return cache, own


def attended(cache, own, query, **options):
    with step_of(cache):
        return module._attention(SimpleNamespace(layer_idx=0), query, *own, None, **options)[0]


@pytest.mark.parametrize("device_type", ["cpu", "cuda"])
@pytest.mark.parametrize("scaling", [None, 0.5])
def test_the_two_parts_are_one_softmax(two_prompts, monkeypatch, device_type, scaling):
    """Also by the formula that other devices take, here on a CPU."""
    cache, own = two_prompts
    layer = cache.layers[0]
    query = torch.randn(4, 6, 1, 8)
    keys, values = (x.repeat_interleave(3, dim=1) for x in layer.whole())
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, keys, values, attn_mask=layer.layout.mask(2), scale=scaling
    ).transpose(1, 2)
    if device_type != "cpu":
        original = module._read
        fake = SimpleNamespace(type=device_type)

        class Elsewhere(torch.Tensor):
            device = property(lambda self: fake)

        monkeypatch.setattr(module, "_read", lambda q, *rest: original(q.as_subclass(Elsewhere), *rest))
    found = attended(cache, own, query, scaling=scaling).as_subclass(torch.Tensor)
    assert found.shape == (4, 1, 6, 8)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    layer.layout.padding.zero_()  # a mask that is not heeded is seen
    with pytest.raises(AssertionError):
        torch.testing.assert_close(attended(cache, own, query, scaling=scaling).as_subclass(torch.Tensor), expected)


def test_branches_stay_what_they_are_when_others_leave(two_prompts):
    cache, own = two_prompts
    query = torch.randn(4, 6, 1, 8)
    before = attended(cache, own, query)
    layer = cache.layers[0]
    kept, prompts = torch.tensor([1, 3]), torch.tensor([0, 1])
    layer.keep(kept, prompts, Layout(layer.layout.padding, torch.tensor([0, 1])))
    torch.testing.assert_close(attended(cache, layer.own_parts(), query[kept]), before[kept])
    layer.keep(torch.tensor([1]), torch.tensor([1]), Layout(layer.layout.padding[1:], torch.tensor([0])))
    assert layer.prompt[0].shape[0] == 1
    torch.testing.assert_close(attended(cache, layer.own_parts(), query[[3]]), before[[3]])


def test_the_model_is_put_back_after_an_error(llama):
    def fails() -> None:
        with branch_attention(llama):
            assert llama.config._attn_implementation == NAME
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert llama.config._attn_implementation == PLAIN


def test_a_model_with_an_attention_of_its_own_stays_as_it_is(llama):
    llama.set_attn_implementation("eager")
    try:
        with branch_attention(llama):
            assert llama.config._attn_implementation == "eager"
            eager = written(llama)
    finally:
        llama.set_attn_implementation(PLAIN)
    assert torch.equal(eager, written(llama))


def test_what_it_does_not_know_goes_to_transformers_with_whole_keys(two_prompts, monkeypatch):
    import transformers.integrations.sdpa_attention as theirs

    asked = []
    monkeypatch.setattr(
        theirs, "sdpa_attention_forward", lambda *given, **options: asked.append(given[2].shape) or (None, None)
    )
    cache, own = two_prompts
    query = torch.zeros(4, 6, 1, 8)
    for option in ({"softcap": 5.0}, {"position_bias": query}, {"dropout": 0.1}):
        attended(cache, own, query, **option)
    assert asked == [(4, 2, 8, 8)] * 3
    attended(cache, own, query, dropout=0.0, scaling=0.5)
    assert len(asked) == 3
