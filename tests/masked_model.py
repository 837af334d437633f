"""A tiny, untrained RoBERTa with a tokenizer of its own, saved as a directory that `models.masked` can name."""

from __future__ import annotations

from pathlib import Path

WORDS = [f"word{i}" for i in range(40)]


def save_masked_model(directory: Path, positions: int = 80) -> str:
    """Write the model and its tokenizer; return the directory's name."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate([*special, *WORDS])}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        cls_token="<s>", sep_token="</s>", mask_token="<mask>",
    )  # fmt: skip
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=len(fast), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=positions, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    RobertaForMaskedLM(config).save_pretrained(str(directory))
    fast.save_pretrained(str(directory))
    return str(directory)
