from __future__ import annotations

import pytest
import torch

from fedtext.generation import grouped_attention as module
from fedtext.generation.decoding import decode
from fedtext.generation.grouped_attention import NAME, PLAIN, grouped_attention
from tests.generation.conftest import tiny
from tests.generation.test_decoding import PROMPTS, draws, never, padded


def written(model, responses: int = 5) -> torch.Tensor:
    uniforms = draws(len(PROMPTS) * responses)
    return decode(model, *padded(PROMPTS), uniforms, temperature=1.0, top_p=1.0, min_p=0.0, is_complete=never)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_writes_the_same_tokens(tokenizer, dtype):
    model = tiny("llama", tokenizer).to(dtype)
    plain = written(model)
    with grouped_attention(model):
        assert torch.equal(written(model), plain)


def test_no_key_is_copied_for_every_head(llama, monkeypatch):
    import transformers.integrations.sdpa_attention as theirs

    copied = []
    kept = theirs.repeat_kv
    monkeypatch.setattr(theirs, "repeat_kv", lambda states, n: copied.append(states.shape[2]) or kept(states, n))
    written(llama)
    steps = len(copied)
    copied.clear()
    with grouped_attention(llama):
        written(llama)
    assert steps > len(copied) == 2 * llama.config.num_hidden_layers, "only the prompt's keys and values"


def test_a_model_whose_heads_share_nothing_stays_as_it_is(tokenizer):
    model = tiny("gpt2", tokenizer)
    with grouped_attention(model):
        assert model.config._attn_implementation == PLAIN


def test_the_model_is_put_back_after_an_error(llama):
    def fails() -> None:
        with grouped_attention(llama):
            assert llama.config._attn_implementation == NAME
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert llama.config._attn_implementation == PLAIN


def test_what_it_does_not_know_goes_to_transformers(monkeypatch):
    import transformers.integrations.sdpa_attention as theirs

    asked = []
    monkeypatch.setattr(
        theirs, "sdpa_attention_forward", lambda *given, **options: asked.append(options) or (None, None)
    )
    query, key, mask = torch.zeros(1, 4, 2, 8), torch.zeros(1, 2, 6, 8), torch.zeros(1, 1, 2, 6)
    for option in ({"softcap": 5.0}, {"position_bias": mask}, {"dropout": 0.1}):
        module._attention(None, query, key, key, mask, **option)
    assert len(asked) == 3
    found, _ = module._attention(None, query, key, key, mask, dropout=0.0, scaling=0.5)
    assert found.shape == (1, 2, 4, 8)
    assert len(asked) == 3
