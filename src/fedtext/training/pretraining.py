"""Pre-training of the bundled language models: a tokenizer, training rows in two forms, and two small Llama models.

Rows come from public text only. The generator is trained on plain documents and on the few-shot lists of
generation/prompt_forms.py. Half of the lists are sampled from a single package, and some of those are headed by its
name, so that the model learns to use a prompt's examples and label. A trained model is saved as one directory with
bf16 weights, its tokenizer and its model card.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from fedtext.generation.prompt_forms import LISTED, header, heading, sample_list
from fedtext.params.training import LlamaShape, Recipe
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


BOS, EOS, PAD = "<bos>", "<eos>", "<pad>"


def train_tokenizer(texts: Sequence[str], vocab_size: int) -> PreTrainedTokenizerBase:
    """Train a byte-level BPE on `texts` and the prompt's own words, with <bos>, <eos> and <pad>."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[BOS, EOS, PAD],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    frame = header() + "".join(heading(i) for i in range(1, LISTED + 1))
    tokenizer.train_from_iterator([*texts, *[frame] * (len(texts) // 10 + 1)], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A $B", special_tokens=[(BOS, tokenizer.token_to_id(BOS))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BOS, eos_token=EOS, pad_token=PAD, padding_side="left"
    )


def few_shot_lists(
    samples: Sequence[str], packages: Sequence[str], count: int, rng: np.random.Generator
) -> Iterator[str]:
    """Yield `count` lists of six samples: half mixed, half of one package, half of the latter headed by its name."""
    by_package: dict[str, list[int]] = {}
    for i, package in enumerate(packages):
        by_package.setdefault(package, []).append(i)
    for _ in range(count):
        chosen = rng.integers(len(samples), size=LISTED)
        label = None
        if rng.random() < 0.5:
            package = packages[chosen[0]]  # a package is sampled in proportion to its number of samples
            chosen = rng.choice(by_package[package], size=LISTED)
            label = package if rng.random() < 0.5 else None
        yield sample_list([samples[i] for i in chosen], label)


def rows_from_texts(
    texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, length: int
) -> Int[np.ndarray, "row length"]:
    """Return one row per text, cut at `length` tokens; a text that is too short to fill its row is left out."""
    encoded = tokenizer(list(texts), truncation=True, max_length=length)["input_ids"]
    full = [ids for ids in encoded if len(ids) == length]
    return np.asarray(full, dtype=np.int64).reshape(len(full), length)


def rows_from_stream(
    texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, length: int
) -> Int[np.ndarray, "row length"]:
    """Join texts as <bos> text <eos> <bos> text <eos> ... and cut them into rows without gaps."""
    encoded = tokenizer(list(texts))["input_ids"]
    stream = np.concatenate([np.asarray([*ids, tokenizer.eos_token_id], dtype=np.int64) for ids in encoded])
    count = len(stream) // length
    return stream[: count * length].reshape(count, length)


def recipe_rows(
    samples: Sequence[str],
    packages: Sequence[str],
    texts: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    recipe: Recipe,
) -> Int[np.ndarray, "row length"]:
    """Build a recipe's training rows: few-shot lists of `samples` first, then rows of whole `texts` in random order.

    Raises:
        ValueError: a thousand lists in a row are too short to fill a row.
    """
    rng = np.random.default_rng(recipe.data_seed)
    length = recipe.row_length
    listed = round(recipe.tokens * recipe.few_shot_share / length)
    plain = round(recipe.tokens / length) - listed
    rows = np.zeros((0, length), dtype=np.int64)
    while (missing := listed - len(rows)) > 0:
        drawn = list(few_shot_lists(samples, packages, max(2 * missing, 1000), rng))  # many are too short for a row
        full = rows_from_texts(drawn, tokenizer, length)
        if not len(full):
            raise InputError(
                f"no list of {LISTED} samples has {length} tokens: lower pretrain's row_length",
                code="no-list-long-enough",
                parameter="row_length",
                value=length,
            )
        rows = np.concatenate([rows, full[:missing]])
    order = rng.permutation(len(texts))
    return np.concatenate([rows, rows_from_stream(_enough(texts, order, plain * length), tokenizer, length)[:plain]])


def _enough(texts: Sequence[str], order: Int[np.ndarray, " text"], tokens: int) -> list[str]:
    """Return texts in the given order until they hold `tokens` tokens, at an upper bound of 6 characters per token."""
    chosen, chars = [], 0
    for i in order:
        if chars > 6 * tokens:
            break
        chosen.append(texts[i])
        chars += len(texts[i])
    return chosen


def new_llama(shape: LlamaShape, tokenizer: PreTrainedTokenizerBase, seed: int) -> PreTrainedModel:
    """Return an untrained Llama of the given shape with tied embeddings."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden_size,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=shape.max_positions,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


@dataclass(frozen=True)
class ModelBundle:
    """A trained model as it is saved: `model.safetensors` in bf16, the tokenizer's files and `README.md`."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    card: str

    def save_pretrained(self, directory: str) -> None:
        """Write weights, tokenizer and model card into `directory`; the model is cast to bf16 first."""
        import torch

        self.model.to(torch.bfloat16).save_pretrained(directory)
        self.tokenizer.save_pretrained(directory)
        Path(directory, "README.md").write_text(self.card, encoding="utf-8")
