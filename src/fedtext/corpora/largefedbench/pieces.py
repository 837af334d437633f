"""Token boundaries of byte-level BPE without tokenizing every text: words repeat, so each distinct one is encoded once.

Byte-level BPE cuts a text into pieces (GPT-2's pattern) and never merges across them, so the tokens of a text are the
tokens of its pieces. Counting is then a table look-up, and only the pieces at chunk boundaries need their offsets. Used
where the tokenizer's definition says exactly that; a test holds every boundary equal to the tokenizer's own.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import accumulate
from typing import Any

from fedtext.corpora.chunking import Chunk
from fedtext.params.corpus import Chunking

_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_MOST_PIECES = 1_000_000


class PieceTokens:
    """The pieces met so far, each with the character offsets of its tokens."""

    def __init__(self, backend: Any, added: tuple[str, ...]) -> None:
        import regex  # type: ignore[import-untyped, unused-ignore]

        self._backend = backend
        self._added = added
        self._cut = regex.compile(_PATTERN).findall
        self._counts: dict[str, int] = {}
        self._offsets: dict[str, list[tuple[int, int]]] = {}

    def chunks(self, text: str, chunking: Chunking) -> tuple[int, list[Chunk]] | None:
        """Number of tokens and chunks of `text`; None if it holds one of the tokenizer's added tokens."""
        if any(token in text for token in self._added):
            return None
        pieces: list[str] = self._cut(text)
        counts = self._counts
        if len(counts) > _MOST_PIECES:
            counts.clear()
            self._offsets.clear()
        for piece in set(pieces).difference(counts):
            counts[piece] = len(self._backend.encode(piece, add_special_tokens=False))
        tokens = list(accumulate(map(counts.__getitem__, pieces), initial=0))
        starts = list(accumulate(map(len, pieces), initial=0))
        total = tokens[-1]
        chunks = []
        for first in range(0, total, chunking.length):
            last = min(first + chunking.length, total) - 1
            if first == 0 or last - first + 1 >= chunking.min_tokens:
                opening, closing = bisect_right(tokens, first) - 1, bisect_right(tokens, last) - 1
                start = starts[opening] + self._offsets_of(pieces[opening])[first - tokens[opening]][0]
                end = starts[closing] + self._offsets_of(pieces[closing])[last - tokens[closing]][1]
                chunks.append(Chunk(start, end, last - first + 1))
        return total, chunks

    def _offsets_of(self, piece: str) -> list[tuple[int, int]]:
        """Characters of the piece that each of its tokens covers."""
        offsets = self._offsets.get(piece)
        if offsets is None:
            offsets = self._offsets[piece] = self._backend.encode(piece, add_special_tokens=False).offsets
        return offsets


def piece_tokens(backend: Any, definition: str) -> PieceTokens | None:
    """A `PieceTokens` if the definition is plain byte-level BPE, else None."""
    value = json.loads(definition)
    model, cutter = value.get("model") or {}, value.get("pre_tokenizer") or {}
    plain = (
        value.get("normalizer") is None
        and model.get("type") == "BPE"
        and not model.get("dropout")
        and not model.get("ignore_merges")
        and cutter.get("type") == "ByteLevel"
        and cutter.get("use_regex", True)
        and not cutter.get("add_prefix_space")
        and (value.get("post_processor") or {}).get("type") in (None, "TemplateProcessing")
    )
    return PieceTokens(backend, tuple(token["content"] for token in value.get("added_tokens") or ())) if plain else None
