"""Fine-tune the on-device model on each condition's texts and count its correct predictions in held-out text.

All conditions are scored on the same held-out texts, so their differences are paired by client (evaluation.paired).

This module also computes the accuracy of POPri's released code, for comparison with its published figures only. That
code splits a text into pieces and then tokenises the pieces once more, as if they were words. A piece that began with a
space carries the vocabulary's symbol for it, which is a letter of two bytes, so most words become three tokens of which
two are filler. The filler is trained on and scored. More than half of the labels are such bytes, which any model soon
predicts, and a window of 64 holds some 21 real tokens. Every key is prefixed `published_`: the figures compare with
each other, never with `next_token_accuracy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.fine_tuning import CHOSEN, fine_tune, fine_tune_and_count
from fedtext.evaluation.next_token import count_next_tokens
from fedtext.params.evaluation import Evaluation
from fedtext.seeding import stream
from fedtext.training.windows import Windows

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from fedtext.models.language_model import LanguageModel


PREFIX = "published_"


def published_accuracy(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    *,
    length: int,
    top: Sequence[int] = (1, 3, 5),
    batch_size: int = 32,
) -> dict[str, float]:
    """Compute the released code's metric: `published_top_1`, ..., `published_tokens`, `published_cross_entropy`.

    All but the first token of a doubly tokenised row are scored, filler and end of text included, padding excluded.
    """
    rows = doubly_tokenised(tokenizer, texts, length)
    summary = count_next_tokens(model, rows, top=top, batch_size=batch_size).summary()
    return {f"{PREFIX}{key}": value for key, value in summary.items()}


def published_figures(scored: Mapping[str, Any]) -> dict[str, float]:
    """Return a condition's values of this metric as plain numbers; empty if it was not computed."""
    return {key: float(value) for key, value in scored.items() if key.startswith(PREFIX)}


def doubly_tokenised(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], length: int) -> list[list[int]]:
    """Tokenise texts as POPri's released code does: into pieces, and then each piece again as if it were a word.

    Returns:
        A row per text, of at most `length` tokens: the start token, the text and the end token.
    """
    again: dict[str, list[int]] = {}

    def tokens_of(piece: str) -> list[int]:
        if piece not in again:
            again[piece] = tokenizer(f" {piece}", add_special_tokens=False)["input_ids"]
        return again[piece]

    ends = (tokenizer.bos_token or tokenizer.eos_token, tokenizer.eos_token)
    rows = []
    for text in texts:
        pieces = [ends[0], *tokenizer.tokenize(text), ends[1]]
        rows.append([token for piece in pieces[:length] for token in tokens_of(piece)][:length])
    return rows


def fine_tune_and_score_as_published(
    on_device: LanguageModel,
    train_texts: Sequence[str],
    eval_texts: Sequence[str],
    params: Evaluation,
    *,
    length: int,
    seed: int,
    label: str,
) -> dict[str, float]:
    """Train and score as `fine_tune_and_count` does, on doubly tokenised rows; without texts, score only."""
    tokenizer = on_device.tokenizer()
    rows = doubly_tokenised(tokenizer, train_texts, length)
    if rows:
        model, _ = fine_tune(on_device, Windows.of(rows, length), params, seed=seed, label=f"published metric, {label}")
    else:
        model, _ = on_device.load()
    return published_accuracy(model, tokenizer, eval_texts, length=length, top=params.top)


def held_out_sample(count: int, params: Evaluation) -> Int[np.ndarray, " sample"]:
    """Return sorted positions of the held-out samples to evaluate on: all, or a random `params.max_eval_samples`."""
    if count <= params.max_eval_samples:
        return np.arange(count)
    drawn = stream(params.seed, "held-out samples").choice(count, params.max_eval_samples, replace=False)
    return np.sort(drawn)


def evenly_spaced(texts: Sequence[str], most: int) -> list[str]:
    """Return at most `most` evenly spaced texts, so that every condition trains on the same number."""
    rows = np.linspace(0, len(texts) - 1, min(most, len(texts))).astype(np.int64)
    return [texts[row] for row in rows]


def score_conditions(
    on_device: LanguageModel,
    conditions: Mapping[str, Sequence[str]],
    held_out: Sequence[str],
    evaluation: Evaluation,
    *,
    length: int,
    validation: Sequence[str] | None = None,
) -> dict[str, dict[str, np.ndarray]]:
    """Fine-tune the on-device model on each condition's texts, if it has any, and count correct predictions.

    `validation`: the texts by which rate and epoch are chosen; None: a part of a condition's own.

    Returns:
        By condition, arrays of `NextTokenCounts` over the held-out texts, `texts` (given to train on), what was chosen
        on them (`learning_rate`, `epochs` and, if texts were held out, `held_out_loss`), and with
        `evaluation.published_metric` the released code's figures, each under its own name.
    """
    recipe: dict[str, Any] = {"length": length, "seed": evaluation.seed}
    scored = {}
    counted = fine_tune_and_count(on_device, conditions, held_out, evaluation, validation=validation, **recipe)
    for name, (counts, facts) in counted.items():
        published = {}
        if evaluation.published_metric:
            texts = conditions[name]
            published = fine_tune_and_score_as_published(on_device, texts, held_out, evaluation, label=name, **recipe)
        chosen = {fact: facts[fact] for fact in CHOSEN if facts.get(fact) is not None}
        scalars = {"texts": facts["texts"], **chosen, **published}
        scored[name] = counts.arrays() | {fact: np.asarray(value) for fact, value in scalars.items()}
    return scored
