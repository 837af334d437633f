"""Texts after their control codes as rows of tokens: the code is shown, the text and its end are scored.

A text that takes more tokens than a row has continues in another row, after its own last token and without the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int, Int32

from fedtext.generation.control_codes import coded_rows
from fedtext.models.language_model import context_length
from fedtext.system.errors import InputError
from fedtext.training.client_gradients import as_unscored
from fedtext.training.local_steps import NO_TOKEN
from fedtext.training.windows import Windows

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def row_width(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, codes: Sequence[str], length: int, parameter: str
) -> int:
    """Compute the largest number of tokens per row from the declared codes and the chunks' length, which are public.

    Raises:
        ValueError: the model reads fewer tokens at once; `parameter` names the parameter in the message.
    """
    shown, scored = coded_rows(tokenizer, codes, [""])
    width, limit = max(map(len, shown)) + length + len(scored[0]), context_length(model)
    if limit is not None and width > limit:
        raise InputError(
            f"{parameter}: a class and its text have up to {width} tokens, the generator reads {limit} at once: lower "
            "chunking.length or choose a model with a longer context",
            code="coded-row-too-long",
            parameter=parameter,
        )
    return width


def token_rows(
    tokenizer: PreTrainedTokenizerBase, codes: Sequence[str], texts: Sequence[str], *, width: int
) -> tuple[Int32[np.ndarray, "row width"], Int[np.ndarray, " row"]]:
    """Tokenise each text after its code, in rows filled up on the right to `width`, with each row's text index."""
    shown, scored = coded_rows(tokenizer, codes, texts)
    whole = [[*as_unscored(code).tolist(), *text.tolist()] for code, text in zip(shown, scored, strict=True)]
    windows = Windows.of(whole, width - 1)
    rows = np.full((len(windows.rows), width), NO_TOKEN, dtype=np.int32)
    for row, tokens in zip(rows, windows.rows, strict=True):
        row[: len(tokens)] = tokens
    return rows, windows.sample
