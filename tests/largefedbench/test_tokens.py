from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from fedtext.corpora.records import chunk_texts
from fedtext.largefedbench.tokens import ChunkTokenizer, load_tokenizer
from fedtext.models.chunks import chunks_by_tokens
from fedtext.models.language_model import bundled
from fedtext.params.corpus import Spans
from tests.model_hub import Hub, serving

TEXTS = ["one two three", "", "a " * 100, "Été—naïve “quotes” " * 40, "x", "w " * 64, "w " * 65, "w " * 72]


def byte_level() -> ChunkTokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return ChunkTokenizer("bytes", tokenizer.to_str())


@pytest.mark.parametrize("chunking", [Spans(length=64, min_tokens=8), Spans(length=5, min_tokens=1)])
def test_the_same_chunks_as_the_library(words: ChunkTokenizer, chunking: Spans) -> None:
    for tokenizer in (words, byte_level()):
        slow = PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend)
        expected = chunk_texts(TEXTS, slow, length=chunking.length, min_tokens=chunking.min_tokens)
        found = tokenizer.chunks(TEXTS, chunking)
        assert [chunks for _, chunks in found] == expected
        assert [n for n, _ in found] == [len(tokenizer.backend.encode(text)) for text in TEXTS]


@functools.cache
def bundled_tokenizer() -> ChunkTokenizer:
    return load_tokenizer(bundled("generator"))


@settings(max_examples=200)
@given(
    texts=st.lists(
        st.text("aBé世1²½'’“\"-— .,\t\n\u00a0\u0085\x1c😀ſ", max_size=60)
        | st.text(max_size=30)
        | st.lists(st.sampled_from(["the", "bill's", "it’ll", "2,000", "($5)", "<bos>", "café", "…"]), max_size=40).map(
            " ".join
        ),
        max_size=4,
    ),
    length=st.integers(4, 9),
)
def test_words_met_before_have_the_tokens_they_have_in_a_text(texts: list[str], length: int) -> None:
    tokenizer = bundled_tokenizer()
    for text, (total, chunks) in zip(texts, tokenizer.chunks(texts, Spans(length=length, min_tokens=1)), strict=True):
        offsets = tokenizer.backend.encode(text, add_special_tokens=False).offsets
        assert total == len(offsets)
        assert chunks == chunks_by_tokens(total, offsets.__getitem__, length, min_tokens=1)


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
    assert tokenizer.chunks(["a b c d e f"], Spans(length=4, min_tokens=1)) == words.chunks(
        ["a b c d e f"], Spans(length=4, min_tokens=1)
    )


ASKED = """
import sys
from fedtext.largefedbench.tokens import load_tokenizer

for source in sys.argv[1:]:
    try:
        print(load_tokenizer(source).sha256)
    except OSError as error:
        print(error)
"""


def written(tokenizer: ChunkTokenizer, where: Path) -> Path:
    where.mkdir()
    (where / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    (where / "tokenizer.json").write_text(tokenizer.definition, "utf-8")
    return where


def test_a_tokenizer_of_a_hub_may_be_kept_to_a_commit(words: ChunkTokenizer, tmp_path: Path) -> None:
    with serving(Hub()) as hub:
        old = hub.upload("someone/tokens", written(words, tmp_path / "old"))
        hub.upload("someone/tokens", written(byte_level(), tmp_path / "new"))
        settings = {**os.environ, "HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / "home")}
        asked = ["someone/tokens", f"someone/tokens@{old}", "someone/tokens@unknown", "./nowhere"]
        command = [sys.executable, "-c", ASKED, *asked]
        done = subprocess.run(command, check=True, env=settings, capture_output=True, text=True)
    newest, kept, unknown, nowhere = done.stdout.splitlines()
    assert (newest, kept) == (byte_level().sha256, words.sha256)
    assert unknown.startswith("tokenizer 'someone/tokens@unknown' cannot be read")
    assert nowhere.startswith("tokenizer './nowhere' is not a directory here")


def test_older_files_are_converted(tmp_path: Path) -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate([*alphabet, "<|endoftext|>"])}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\n", "utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}', "utf-8")
    chunking = Spans(length=5, min_tokens=1)
    assert load_tokenizer(str(tmp_path)).chunks(TEXTS, chunking) == byte_level().chunks(TEXTS, chunking)
