"""From raw continuations to synthetic samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedtext.generation.legible import read_like_text
from fedtext.generation.prompt_forms import PromptForm

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Bytes that do not make a character decode to U+FFFD; control characters other than line end and tab are never text.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffd]")


def clean_samples(
    texts: Sequence[str],
    form: PromptForm,
    tokenizer: PreTrainedTokenizerBase,
    length: int,
    *,
    legible_only: bool = False,
) -> list[str]:
    """The sample in each raw response: what `form` cuts out, without unprintable characters, `length` tokens.

    The cut is by character offsets, as in `corpora.chunking`, so no text is re-rendered. A response that holds no
    sample, or with `legible_only` none that reads like text, is an empty string, so that positions stay; nothing empty
    may be scored.
    """
    if not texts:
        return []
    cut = [UNPRINTABLE.sub("", form.cut(text)) for text in texts]
    samples = cut_to(cut, tokenizer, [length] * len(cut))
    if not legible_only:
        return samples
    return [text if reads else "" for text, reads in zip(samples, read_like_text(samples), strict=True)]


def cut_to(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, lengths: Sequence[int]) -> list[str]:
    """The first `lengths[i]` tokens of text i, as a piece of the text itself."""
    if not texts:
        return []
    offsets = _offsets(texts, tokenizer)
    ends = [spans[:length][-1][1] if spans[:length] else 0 for spans, length in zip(offsets, lengths, strict=True)]
    return [text[:end].strip() for text, end in zip(texts, ends, strict=True)]


def token_counts(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Tokens of each text, special ones not counted."""
    return [len(spans) for spans in _offsets(texts, tokenizer)] if texts else []


def _offsets(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[list[tuple[int, int]]]:
    spans: list[list[tuple[int, int]]] = tokenizer(
        list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )["offset_mapping"]
    return spans
