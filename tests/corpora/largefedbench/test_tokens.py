from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from fedtext.corpora.chunking import chunk_texts
from fedtext.corpora.largefedbench.tokens import ChunkTokenizer, load_tokenizer
from fedtext.params.corpus import Chunking

TEXTS = ["one two three", "", "a " * 100, "Été—naïve “quotes” " * 40, "x", "w " * 64, "w " * 65, "w " * 72]


def byte_level() -> ChunkTokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return ChunkTokenizer("bytes", tokenizer.to_str())


@pytest.mark.parametrize("chunking", [Chunking(length=64, min_tokens=8), Chunking(length=5, min_tokens=1)])
def test_the_same_chunks_as_the_library(words: ChunkTokenizer, chunking: Chunking) -> None:
    for tokenizer in (words, byte_level()):
        slow = PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend)
        expected = chunk_texts(TEXTS, slow, length=chunking.length, min_tokens=chunking.min_tokens)
        found = tokenizer.chunks(TEXTS, chunking)
        assert [chunks for _, chunks in found] == expected
        assert [n for n, _ in found] == [len(tokenizer.backend.encode(text)) for text in TEXTS]


def test_a_tokenizer_is_known_by_its_definition(words: ChunkTokenizer, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(words.definition, "utf-8")
    loaded = load_tokenizer(str(tmp_path), name="mine")
    assert loaded.name == "mine"
    assert loaded.sha256 == words.sha256 == hashlib.sha256(words.definition.encode()).hexdigest()
    assert loaded.sha256 != byte_level().sha256


def test_truncation_and_padding_of_the_file_are_off(words: ChunkTokenizer) -> None:
    cut = Tokenizer.from_str(words.definition)
    cut.enable_truncation(4)
    cut.enable_padding(length=50)
    tokenizer = ChunkTokenizer("cut", cut.to_str())
    assert tokenizer.chunks(["a b c d e f"], Chunking(length=4, min_tokens=1)) == words.chunks(
        ["a b c d e f"], Chunking(length=4, min_tokens=1)
    )
