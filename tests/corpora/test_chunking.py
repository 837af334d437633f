from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.corpora.chunking import chunk_texts


class WordTokenizer:
    """A token a word, with the call and the answer of a fast transformers tokenizer."""

    def __call__(
        self, texts: Sequence[str], *, add_special_tokens: bool, return_offsets_mapping: bool
    ) -> dict[str, list]:
        assert not add_special_tokens  # a beginning-of-text token has no characters
        assert return_offsets_mapping
        return {"offset_mapping": [[m.span() for m in re.finditer(r"\S+", text)] for text in texts]}


def chunks_of(text: str, length: int = 4, min_tokens: int = 2) -> list[str]:
    (chunks,) = chunk_texts([text], WordTokenizer(), length=length, min_tokens=min_tokens)
    return [text[chunk.start : chunk.end] for chunk in chunks]


def test_successive_spans_of_the_text_itself():
    assert chunks_of("a b  c\td e f g h i j") == ["a b  c\td", "e f g h", "i j"]


def test_a_short_last_chunk_is_dropped():
    assert chunks_of("a b c d e") == ["a b c d"]
    assert chunks_of("a b c d e f") == ["a b c d", "e f"]


def test_but_never_the_only_one():
    assert chunks_of("a") == ["a"]
    assert chunks_of(" a ", min_tokens=4) == ["a"]


def test_blank_texts_have_no_chunks_and_texts_keep_their_order():
    found = chunk_texts(["", "a b", " "], WordTokenizer(), length=4, min_tokens=1)
    assert [len(chunks) for chunks in found] == [0, 1, 0]
    assert chunk_texts([], WordTokenizer(), length=4, min_tokens=1) == []


@settings(max_examples=150)
@given(st.lists(st.sampled_from(["word", "x", "é", "漢字"]), min_size=1, max_size=40), st.data())
def test_chunks_are_full_disjoint_and_cover_all_but_a_short_tail(words, data):
    length = data.draw(st.integers(1, 9))
    min_tokens = data.draw(st.integers(1, length))
    text = "  ".join(words)
    (chunks,) = chunk_texts([text], WordTokenizer(), length=length, min_tokens=min_tokens)
    assert [chunk.n_tokens for chunk in chunks[:-1]] == [length] * (len(chunks) - 1)
    for before, after in itertools.pairwise(chunks):
        assert before.end < after.start
    kept = [word for chunk in chunks for word in text[chunk.start : chunk.end].split()]
    assert kept == words[: len(kept)]
    assert len(words) - len(kept) < min_tokens or len(kept) == len(words)
    assert sum(chunk.n_tokens for chunk in chunks) == len(kept)


@pytest.fixture(scope="module")
def byte_tokenizer():
    """A real tokenizer of the library, trained here on a few words: characters of several bytes and merges."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        ["return the values of it"], trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet)
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def test_with_a_real_tokenizer_spans_are_slices_of_the_text(byte_tokenizer):
    text = "Return the values of it — naïve 漢字, and the values." * 5
    (chunks,) = chunk_texts([text], byte_tokenizer, length=16, min_tokens=4)
    assert len(chunks) > 3
    pieces = [text[chunk.start : chunk.end] for chunk in chunks]
    assert all(pieces)
    assert "".join(pieces).startswith("Return the values of it")
    assert [chunk.n_tokens for chunk in chunks[:-1]] == [16] * (len(chunks) - 1)
