from __future__ import annotations

import pytest

from fedtext.training.pretraining import train_tokenizer

WORDS = [
    "a",
    "list",
    "of",
    "public",
    "samples",
    "returns",
    "the",
    "value",
    "that",
    "was",
    "given",
    "or",
    "raises",
    "an",
    "error",
    "when",
    "nothing",
    "else",
    "is",
    "left",
]


@pytest.fixture(scope="session")
def tokenizer():
    texts = [" ".join(WORDS[i:] + WORDS[:i]) + ".\n" for i in range(len(WORDS))]
    return train_tokenizer(texts, 320)


def tiny(kind: str, tokenizer, seed: int = 0):
    """A random model with weights large enough that its next tokens differ in probability."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    special = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    torch.manual_seed(seed)
    if kind == "gpt2":
        shape = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128}
        config = GPT2Config(vocab_size=len(tokenizer), initializer_range=0.3, **shape, **special)
        return GPT2LMHeadModel(config).eval()
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 64, "max_position_embeddings": 128}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(vocab_size=len(tokenizer), initializer_range=0.3, **shape, **heads, **special)
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="session", params=["llama", "gpt2"])
def model(request, tokenizer):
    return tiny(request.param, tokenizer)


@pytest.fixture(scope="session")
def llama(tokenizer):
    return tiny("llama", tokenizer)
