"""Cutting a text by its tokens, at places where a token and a character end together.

Byte-level tokenizers give a rare character several tokens, of which each stands for the whole character in the text,
and now and then a token ends inside one. A text that is cut at such a token holds the character on both sides, or more
tokens than were counted.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

Span = tuple[int, int]  # the characters of a token: the first, and the one behind the last
BYTES = 4  # of a character, at most; each may be a token
# Control characters, and planes that nobody has filled. SmolLM2 has no token for the bytes of some.
WITHOUT_TOKEN = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\U00040000-\U0010ffff]")


class Chunk(NamedTuple):
    """Characters `start:end` of a text, which are `n_tokens` tokens of the chunking tokenizer."""

    start: int
    end: int
    n_tokens: int


def tokenizable(text: str) -> str:
    """Return a text with a space for each character that a tokenizer may have no token for.

    The offsets of all later tokens would otherwise be too small, and the text's end be lost.
    """
    return WITHOUT_TOKEN.sub(" ", text)


def chunks_by_tokens(total: int, span_of: Callable[[int], Span], length: int, min_tokens: int) -> list[Chunk]:
    """Return the successive chunks of a text of `total` tokens, each of at most `length`, and of whole characters.

    A last chunk shorter than `min_tokens` is dropped unless it is the only one.

    Args:
        total: Number of the text's tokens.
        span_of: The characters of the n-th token; few tokens are asked for.
        length: Tokens of a chunk, at least 4, for a character may have so many.
        min_tokens: Least tokens of the last chunk.
    """
    chunks: list[Chunk] = []
    first = 0
    while first < total:
        last = min(first + length, total)
        places = chain(range(last, first, -1), range(last + 1, total))
        end = next((place for place in places if _parts(place, total, span_of)), total)
        if end <= last:
            chunks.append(Chunk(span_of(first)[0], span_of(end - 1)[1], end - first))
        else:
            chunks += _sliced([span_of(token) for token in range(first, end)], max(1, length // BYTES))
        first = end
    return chunks[:-1] if len(chunks) > 1 and chunks[-1].n_tokens < min_tokens else chunks


def end_within(spans: Sequence[Span], length: int) -> int:
    """Return the end of the longest beginning of a text that is at most `length` tokens and whole characters."""
    places = range(min(length, len(spans)), 0, -1)
    end = next((place for place in places if _parts(place, len(spans), spans.__getitem__)), None)
    if end is not None:
        return spans[end - 1][1]
    return spans[0][0] + length // BYTES if spans else 0


def _parts(place: int, total: int, span_of: Callable[[int], Span]) -> bool:
    """Return whether a character ends before the token at this place."""
    return place == total or span_of(place)[0] >= span_of(place - 1)[1]


def _sliced(spans: Sequence[Span], characters: int) -> list[Chunk]:
    """Return chunks of so many characters of tokens that all end inside one, such as of a long ruled line.

    A token counts where it begins, for no chunk has the tokens of the whole.
    """
    starts = [start for start, _ in spans]
    edges = [*range(starts[0], spans[-1][1], characters), spans[-1][1]]
    begun = [bisect_left(starts, edge) for edge in edges]
    pairs = zip(pairwise(edges), pairwise(begun), strict=True)
    return [Chunk(start, end, behind - first) for (start, end), (first, behind) in pairs]
