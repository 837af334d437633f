"""A trained language model as it is shipped: bf16 weights, its tokenizer and its model card in one directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class ModelBundle:
    """What `save_pretrained` writes: `model.safetensors` in bf16, the tokenizer's files and `README.md`."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    card: str

    def save_pretrained(self, directory: str) -> None:
        """Write all three into `directory`; the model is cast to bf16 first."""
        import torch

        self.model.to(torch.bfloat16).save_pretrained(directory)
        self.tokenizer.save_pretrained(directory)
        Path(directory, "README.md").write_text(self.card, encoding="utf-8")
