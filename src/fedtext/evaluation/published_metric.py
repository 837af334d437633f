"""The accuracy that POPri's released code computes, to stand beside its published figures and nothing else.

That code splits a text into pieces and then tokenises the pieces once more, as if they were words. A piece that began
with a space carries the vocabulary's stand-in for it, which is no longer a space but a letter of two bytes, so most
words become three tokens of which two are filler, and the filler is trained on and scored. More than half of the labels
are such bytes, which any model soon gets right, and a window of 64 holds some 21 real tokens. Every key is prefixed
`published_`: the figures compare with each other, never with `next_token_accuracy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedtext.evaluation.fine_tuning import fine_tune
from fedtext.evaluation.next_token import count_next_tokens
from fedtext.params.evaluation import Evaluation
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
    """The released code's metric on `texts`: `published_top_1`, ..., `published_tokens`, `published_cross_entropy`.

    All but the first token of a doubly tokenised row are scored, filler and end of text included, padding excluded.
    """
    rows = doubly_tokenised(tokenizer, texts, length)
    summary = count_next_tokens(model, rows, top=top, batch_size=batch_size).summary()
    return {f"{PREFIX}{key}": value for key, value in summary.items()}


def published_figures(scored: Mapping[str, Any]) -> dict[str, float]:
    """Those of a condition's values that are this metric's, as plain numbers; none if it was not asked for."""
    return {key: float(value) for key, value in scored.items() if key.startswith(PREFIX)}


def doubly_tokenised(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], length: int) -> list[list[int]]:
    """Rows of at most `length` tokens: start, text and end as pieces, each piece after a space tokenised again."""
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
    """As `fine_tune_and_count`, with training and scoring both on doubly tokenised rows; no texts, no training."""
    tokenizer = on_device.tokenizer()
    rows = doubly_tokenised(tokenizer, train_texts, length)
    if rows:
        model, _ = fine_tune(on_device, Windows.of(rows, length), params, seed=seed, label=f"published metric, {label}")
    else:
        model, _ = on_device.load()
    return published_accuracy(model, tokenizer, eval_texts, length=length, top=params.top)
