"""Texts behind their control codes as rows of tokens: the code is shown, the text and its end are scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int32

from fedtext.generation.control_codes import coded_rows
from fedtext.models.language_model import context_length
from fedtext.system.errors import InputError
from fedtext.training.client_gradients import only_shown
from fedtext.training.local_steps import NO_TOKEN

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def row_width(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, codes: Sequence[str], length: int, asked_by: str
) -> int:
    """How many tokens a row has at most: public, for it comes from the declared codes and the chunks' length.

    Raises:
        ValueError: the model reads fewer at once; `asked_by` names who asks.
    """
    shown, scored = coded_rows(tokenizer, codes, [""], length)
    width, limit = max(map(len, shown)) + length + len(scored[0]), context_length(model)
    if limit is not None and width > limit:
        raise InputError(
            f"{asked_by}: a class and its text have up to {width} tokens, the generator reads {limit} at once: lower "
            "chunking.length or choose a model with a longer context"
        )
    return width


def token_rows(
    tokenizer: PreTrainedTokenizerBase, codes: Sequence[str], texts: Sequence[str], *, length: int, width: int
) -> Int32[np.ndarray, "text width"]:
    """Each text behind its code, which is shown and not scored, filled up on the right to `width`."""
    shown, scored = coded_rows(tokenizer, codes, texts, length)
    rows = np.full((len(texts), width), NO_TOKEN, dtype=np.int32)
    for row, code, text in zip(rows, shown, scored, strict=True):
        row[: len(code)] = only_shown(code)
        row[len(code) : len(code) + len(text)] = text
    return rows
