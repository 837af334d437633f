"""Supervised fine-tuning: next-token training of a language model on texts, of a LoRA adapter or of all weights."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import commonprefix
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from fedtext.models.generator import TrainableGenerator
from fedtext.models.language_model import context_length
from fedtext.params.training import CausalTraining, Lora
from fedtext.system.errors import InputError
from fedtext.training.causal_lm import train_causal_lm
from fedtext.training.client_gradients import as_unscored
from fedtext.training.lora import Trained, lora_config, trained_of, without_deprecations

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

NO_TOKEN = -1  # padding that is no token of any tokenizer


def train_on_texts(
    base: TrainableGenerator,
    texts: Sequence[str],
    params: CausalTraining,
    lora: Lora | None,
    *,
    seed: int,
    label: str,
    prompts: Sequence[str] | None = None,
) -> tuple[Trained, list[dict[str, float]]]:
    """Train a fresh adapter of the public model `base`, or all of its weights, on `texts`.

    With `prompts` each text follows its own prompt, which is shown to the model and not scored.

    Returns:
        The adapter or all weights, and the history of `train_causal_lm`.

    Raises:
        ValueError: there is no text, a text with its prompt is longer than the model reads, a text has no scored token,
            or the loss is not finite.
    """
    import torch
    from peft import get_peft_model

    model, tokenizer = base.load()
    torch.manual_seed(seed)
    with without_deprecations():
        trained = model.float() if lora is None else get_peft_model(model, lora_config(model, lora))
        rows = padded_rows(texts, tokenizer) if prompts is None else rows_behind_prompts(prompts, texts, tokenizer)
        validate_lengths(rows, model, label)
        validate_scored_tokens(rows, label)
        history = train_causal_lm(trained, rows, params, seed=seed, pad_token_id=NO_TOKEN, label=label)
    return trained_of(trained, base.source, lora), history


def padded_rows(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> Int[np.ndarray, "text length"]:
    """Tokenise each text, padded on the right with `NO_TOKEN` to the longest of them; no text is cut."""
    return _padded(tokenizer(list(texts), verbose=False)["input_ids"] if texts else [])


def rows_behind_prompts(
    prompts: Sequence[str], texts: Sequence[str], tokenizer: PreTrainedTokenizerBase
) -> Int[np.ndarray, "text length"]:
    """Tokenise each prompt followed by its text, padded with `NO_TOKEN`; the prompt's tokens are shown and not scored.

    Both are tokenised together, as the model will read them, and split where the tokens stop agreeing with the prompt
    alone.
    """
    if not texts:
        return _padded([])
    whole = tokenizer([p + t for p, t in zip(prompts, texts, strict=True)], verbose=False)
    alone = tokenizer(list(prompts), verbose=False)["input_ids"]
    encoded = []
    for ids, prompt in zip(whole["input_ids"], alone, strict=True):
        shown = len(commonprefix([ids, prompt]))  # noqa: RUF071 - of tokens, not of paths
        encoded.append([*as_unscored(np.asarray(ids[:shown], dtype=np.int64)).tolist(), *ids[shown:]])
    return _padded(encoded)


def validate_lengths(rows: Int[np.ndarray, "text length"], model: PreTrainedModel, label: str) -> None:
    """Raise ValueError if a text with its prompt has more tokens than `model` reads: cut, it would lose its answer."""
    lengths, limit = (rows != NO_TOKEN).sum(axis=1), context_length(model)
    if limit is not None and (lengths > limit).any():
        raise InputError(
            f"{label}: {(lengths > limit).sum()} of {len(rows)} texts have more tokens with their prompts, up to "
            f"{lengths.max()}, than the {limit} that the model reads at once: lower chunking.length or the prompts' "
            "length, or choose a model with a longer context (models.generator, models.downstream)",
            code="rows-too-long",
        )


def validate_scored_tokens(rows: Int[np.ndarray, "text length"], label: str) -> None:
    """Raise ValueError if a row has no scored token (its answer is empty or was cut off): its mean loss is NaN."""
    unscored = ~(rows[:, 1:] >= 0).any(axis=1)
    if unscored.any():
        raise InputError(
            f"{label}: {unscored.sum()} of {len(rows)} rows have no token of an answer, row "
            f"{int(np.flatnonzero(unscored)[0])} first: leave empty answers out, or shorten the prompts",
            code="rows-without-answer",
        )


def _padded(encoded: Sequence[Sequence[int]]) -> Int[np.ndarray, "text length"]:
    rows = np.full((len(encoded), max(map(len, encoded), default=0)), NO_TOKEN, dtype=np.int64)
    for row, ids in zip(rows, encoded, strict=True):
        row[: len(ids)] = ids
    return rows
