"""Successive spans of a fixed number of tokens: a client's samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Chunk(NamedTuple):
    """Characters `start:end` of a text, which are `n_tokens` tokens of the chunking tokenizer."""

    start: int
    end: int
    n_tokens: int


def chunk_texts(
    texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, *, length: int, min_tokens: int
) -> list[list[Chunk]]:
    """Cut every text into successive chunks of `length` tokens, by character offsets so that no text is re-rendered.

    A last chunk shorter than `min_tokens` is dropped unless it is the only one, so no non-blank text ends up empty.
    """
    if not texts:
        return []
    offsets = tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    return [_spans(spans, length, min_tokens) for spans in offsets]


def _spans(offsets: Sequence[tuple[int, int]], length: int, min_tokens: int) -> list[Chunk]:
    chunks = []
    for first in range(0, len(offsets), length):
        part = offsets[first : first + length]
        if first == 0 or len(part) >= min_tokens:
            chunks.append(Chunk(part[0][0], part[-1][1], len(part)))
    return chunks
