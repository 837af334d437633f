"""Chunk spans of many texts at once: the rule of `fedtext.models.chunks`, on the tokenizer's fast side only.

Only the offsets at chunk boundaries are computed, and the whole batch is encoded in one call; a test holds the
result equal to `chunk_texts`. A tokenizer is known by the sha256 of its definition, which goes into the provenance.

Token boundaries of byte-level BPE without tokenizing every text: words repeat, so each distinct one is encoded once.

Byte-level BPE cuts a text into pieces (GPT-2's pattern) and never merges across them, and a single space always opens
a piece: the tokens of a text whose words stand one space apart are the tokens of its words, each with the space before
it. Counting is then a table look-up, and only the words at chunk boundaries need their offsets. Used where the
tokenizer's definition says exactly that; a test holds every boundary equal to the tokenizer's own.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from fedtext.models.chunks import Chunk, chunks_by_tokens
from fedtext.models.source import SHIPPED, Place, find_model, unreadable
from fedtext.params.corpus import Spans
from fedtext.system.errors import InputError

_MOST_WORDS = 500_000  # about 60 MiB


class WordTokens:
    """The words met so far, each with its number of tokens; of some, the characters of each token too."""

    def __init__(self, backend: Any, added: tuple[str, ...]) -> None:
        self._backend = backend
        self._added = added
        self._counts: dict[str, int] = {}
        self._offsets: dict[str, list[tuple[int, int]]] = {}

    def chunks(self, texts: Sequence[str], chunking: Spans) -> list[tuple[int, list[Chunk]] | None]:
        """Return the number of tokens and chunks of every text; None for one that must be tokenized as a whole."""
        cut = [self._words(text) for text in texts]
        self._learn(cut)
        return [self._chunks(words, chunking) if words else None for words in cut]

    def _words(self, text: str) -> list[str]:
        """Return the text's words, each but the first with its space.

        Empty if the text has other white space or an added token.
        """
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

        def span_of(token: int) -> tuple[int, int]:
            word = bisect_right(tokens, token) - 1
            start, end = self._offsets_of(words[word])[token - tokens[word]]
            return starts[word] + start, starts[word] + end

        return total, chunks_by_tokens(total, span_of, chunking.length, chunking.min_tokens)

    def _offsets_of(self, word: str) -> list[tuple[int, int]]:
        """Return the character span of each token of the word."""
        if self._counts[word] == 1:
            return [(0, len(word))]
        offsets = self._offsets.get(word)
        if offsets is None:
            offsets = self._offsets[word] = self._backend.encode(word, add_special_tokens=False).offsets
        return offsets


def word_tokens(backend: Any, definition: str) -> WordTokens | None:
    """Return a `WordTokens` if the definition is plain byte-level BPE, else None."""
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


DEFINITION = "tokenizer.json"


@dataclass(frozen=True)
class ChunkTokenizer:
    """A fast tokenizer: its requested name, and its definition (the text of tokenizer.json)."""

    name: str
    definition: str = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """Hash of the definition: equal hashes cut equal chunks."""
        return hashlib.sha256(self.definition.encode()).hexdigest()

    @property
    def backend(self) -> Any:
        """The tokenizer, with truncation and padding off."""
        return _backend(self.definition)

    @property
    def words(self) -> WordTokens | None:
        """The tokens of words met before, where the tokenizer is plain byte-level BPE."""
        return words_of(self.definition)

    def chunks(self, texts: Sequence[str], chunking: Spans) -> list[tuple[int, list[Chunk]]]:
        """Return the number of tokens and chunks of every text, in order."""
        words = self.words
        found = words.chunks(texts, chunking) if words else [None] * len(texts)
        rest = [text for text, known in zip(texts, found, strict=True) if known is None]
        encodings = iter(self.backend.encode_batch(rest, add_special_tokens=False))
        return [known if known is not None else _encoded(next(encodings), chunking) for known in found]


# By definition: a worker gets a copy of the tokenizer with every task, and should not meet the same words again.
@cache
def _backend(definition: str) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(definition)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@cache
def words_of(definition: str) -> WordTokens | None:
    """Return the words this process has met under the tokenizer of that definition, if it is plain byte-level BPE."""
    return word_tokens(_backend(definition), definition)


def _encoded(encoding: Any, chunking: Spans) -> tuple[int, list[Chunk]]:
    total = len(encoding)
    return total, chunks_by_tokens(total, encoding.token_to_chars, chunking.length, chunking.min_tokens)


def load_tokenizer(source: str, *, name: str | None = None) -> ChunkTokenizer:
    """Load the tokenizer in `source`, a directory or a tokenizer.json, else that of a Hugging Face id.

    Raises:
        OSError: It is not local, not on the hub, and not in the hub's cache.
        ValueError: Its file is not UTF-8, or it has no fast implementation and so no character offsets.
    """
    path = Path(source).expanduser()
    if path.is_file():
        return _read_definition(path, name or source)
    place = find_model(source, "tokenizer", SHIPPED)
    try:
        file = _definition_file(place)
        return _read_definition(file, name or source) if file else _converted(place, name or source)
    except OSError as error:
        raise unreadable(source, "tokenizer", SHIPPED, error) from error


def _definition_file(place: Place) -> Path | None:
    """Return the model's own tokenizer.json, which is the same bytes from the hub and from a directory."""
    if place.commit is None:  # a directory
        file = Path(place.name) / DEFINITION
        return file if file.is_file() else None
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        return Path(hf_hub_download(place.name, DEFINITION, revision=place.revision, local_files_only=place.local))
    except EntryNotFoundError:
        return None


def _read_definition(file: Path, name: str) -> ChunkTokenizer:
    try:
        return ChunkTokenizer(name, file.read_text("utf-8"))
    except UnicodeDecodeError:
        raise InputError(
            f"tokenizer {file} is not UTF-8 text: give a tokenizer.json", code="tokenizer-not-utf8"
        ) from None


def _converted(place: Place, name: str) -> ChunkTokenizer:
    """Return the definition that the library makes of older files (SentencePiece, vocabulary and merges)."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(place.name, **place.keywords)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise InputError(
            f"tokenizer {name} has no fast implementation: chunks need character offsets; choose another",
            code="tokenizer-not-fast",
            value=name,
        )
    return ChunkTokenizer(name, backend.to_str())
