"""Tiny random models with a tokenizer of their own: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel, PreTrainedTokenizerBase

from fedtext.generation.prompt_forms import SampleList
from fedtext.params.training import LlamaShape
from fedtext.training.pretraining import new_llama, train_tokenizer

SENTENCE = "return the sorted list of items that match a given pattern or raise an error when none of them does"


def sentence(rng: np.random.Generator, words: int) -> str:
    return " ".join(rng.choice(SENTENCE.split(), size=words)).capitalize() + "."


@dataclass(frozen=True)
class InMemory:
    """Stands where fedtext.models.language_model.LanguageModel does: every load is a fresh copy."""

    build: Callable[[], PreTrainedModel]
    tokenizer: PreTrainedTokenizerBase
    source: str = "tiny"

    def load(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        return self.build().eval(), self.tokenizer


def tiny_gpt2(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    torch.manual_seed(3)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer), n_embd=16, n_layer=2, n_head=2, n_positions=256, bos_token_id=0, eos_token_id=1
        )
    )


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerBase:
    rng = np.random.default_rng(0)
    return train_tokenizer([sentence(rng, 20) for _ in range(200)], vocab_size=400)


@pytest.fixture(scope="session")
def llama(tokenizer: PreTrainedTokenizerBase) -> InMemory:
    shape = LlamaShape(hidden_size=32, layers=2, heads=2, feed_forward=48, max_positions=256)
    return InMemory(lambda: new_llama(shape, tokenizer, seed=1), tokenizer)


@pytest.fixture(scope="session")
def gpt2(tokenizer: PreTrainedTokenizerBase) -> InMemory:
    return InMemory(lambda: tiny_gpt2(tokenizer), tokenizer)


@pytest.fixture(scope="session")
def pairs() -> pd.DataFrame:
    """Ten pairs of unequal lengths under prompts of unequal lengths."""
    rng = np.random.default_rng(1)
    prompts = [SampleList().request([sentence(rng, int(n)) for n in rng.integers(3, 9, size=3)]) for _ in range(10)]
    chosen, rejected = ([sentence(rng, int(n)) for n in rng.integers(3, 12, size=10)] for _ in range(2))
    return pd.DataFrame({"prompt": prompts, "chosen": chosen, "rejected": rejected})
