"""A model whose answers are known, and a tiny random one with a tokenizer of its own: nothing is downloaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from fedtext.params.training import LlamaShape
from fedtext.training.pretraining import new_llama, train_tokenizer

SENTENCE = "return the sorted list of items that match a given pattern or raise an error when none of them does"
WORDS = SENTENCE.split()


def sentence(rng: np.random.Generator, words: int) -> str:
    return " ".join(rng.choice(WORDS, size=words)).capitalize() + "."


class Successor(torch.nn.Module):
    """Ranks token t + 1 first after token t, then t + 2, t + 3, ...; `knows=False` gives every token the same logit."""

    def __init__(self, vocabulary: int, knows: bool = True) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.vocabulary, self.knows = vocabulary, knows
        self.head = torch.nn.Identity()

    def get_output_embeddings(self) -> torch.nn.Module:
        return self.head

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, use_cache: bool) -> SimpleNamespace:
        tokens = torch.arange(self.vocabulary)
        distance = (tokens - input_ids[..., None] - 1) % self.vocabulary
        logits = -distance.float() if self.knows else torch.zeros_like(distance).float()
        return SimpleNamespace(logits=self.head(logits))


@dataclass(frozen=True)
class InMemory:
    """Stands where a LanguageModel does: every load is a fresh copy."""

    vocabulary: PreTrainedTokenizerBase
    loads: list[int] = field(default_factory=list)

    def tokenizer(self) -> PreTrainedTokenizerBase:
        return self.vocabulary

    def load(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        self.loads.append(1)
        shape = LlamaShape(hidden_size=32, layers=1, heads=2, feed_forward=48, max_positions=64)
        return new_llama(shape, self.vocabulary, seed=1), self.vocabulary


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerBase:
    rng = np.random.default_rng(0)
    return train_tokenizer([sentence(rng, 20) for _ in range(200)], vocab_size=320)


@pytest.fixture
def llama(tokenizer: PreTrainedTokenizerBase) -> InMemory:
    return InMemory(tokenizer)
