"""Token boundaries of byte-level BPE without tokenizing every text: words repeat, so each distinct one is encoded once.

Byte-level BPE cuts a text into pieces (GPT-2's pattern) and never merges across them, and a single space always opens
a piece: the tokens of a text whose words stand one space apart are the tokens of its words, each with the space before
it. Counting is then a table look-up, and only the words at chunk boundaries need their offsets. Used where the
tokenizer's definition says exactly that; a test holds every boundary equal to the tokenizer's own.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from fedtext.corpora.chunking import Chunk
from fedtext.params.corpus import Spans

_MOST_WORDS = 500_000  # about 60 MiB


class WordTokens:
    """The words met so far, each with its number of tokens; of some, the characters of each token too."""

    def __init__(self, backend: Any, added: tuple[str, ...]) -> None:
        self._backend = backend
        self._added = added
        self._counts: dict[str, int] = {}
        self._offsets: dict[str, list[tuple[int, int]]] = {}

    def chunks(self, texts: Sequence[str], chunking: Spans) -> list[tuple[int, list[Chunk]] | None]:
        """Number of tokens and chunks of every text; None for one that must be tokenized as a whole."""
        cut = [self._words(text) for text in texts]
        self._learn(cut)
        return [self._chunks(words, chunking) if words else None for words in cut]

    def _words(self, text: str) -> list[str]:
        """The text's words, each but the first with its space; none if other white space or an added token is in it."""
        if " ".join(text.split()) != text or any(token in text for token in self._added):
            return []
        return text.replace(" ", "\n ").split("\n") if text else []

    def _learn(self, cut: list[list[str]]) -> None:
        if len(self._counts) > _MOST_WORDS:
            self._counts.clear()
            self._offsets.clear()
        new = list(set().union(*cut).difference(self._counts))
        encodings = self._backend.encode_batch_fast(new, add_special_tokens=False)
        self._counts.update(zip(new, map(len, encodings), strict=True))

    def _chunks(self, words: list[str], chunking: Spans) -> tuple[int, list[Chunk]]:
        tokens = list(accumulate(map(self._counts.__getitem__, words), initial=0))
        starts = list(accumulate(map(len, words), initial=0))
        total = tokens[-1]
        length, fewest = chunking.length, chunking.min_tokens  # read once: every reading of a parameter is noted
        chunks = []
        for first in range(0, total, length):
            last = min(first + length, total) - 1
            if first == 0 or last - first + 1 >= fewest:
                opening, closing = bisect_right(tokens, first) - 1, bisect_right(tokens, last) - 1
                start = starts[opening] + self._offsets_of(words[opening])[first - tokens[opening]][0]
                end = starts[closing] + self._offsets_of(words[closing])[last - tokens[closing]][1]
                chunks.append(Chunk(start, end, last - first + 1))
        return total, chunks

    def _offsets_of(self, word: str) -> list[tuple[int, int]]:
        """Characters of the word that each of its tokens covers."""
        if self._counts[word] == 1:
            return [(0, len(word))]
        offsets = self._offsets.get(word)
        if offsets is None:
            offsets = self._offsets[word] = self._backend.encode(word, add_special_tokens=False).offsets
        return offsets


def word_tokens(backend: Any, definition: str) -> WordTokens | None:
    """A `WordTokens` if the definition is plain byte-level BPE, else None."""
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
    return WordTokens(backend, tuple(token["content"] for token in value.get("added_tokens") or ())) if plain else None
