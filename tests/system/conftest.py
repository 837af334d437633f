"""The tiny models of the generation room's tests."""

from tests.generation.conftest import llama, model, tokenizer

__all__ = ["llama", "model", "tokenizer"]
