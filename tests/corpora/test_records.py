"""Records to samples: one row a chunk, counted per client."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.corpora.records import SAMPLE_COLUMNS, chunk_texts, sample_records, spread_samples
from fedtext.models.language_model import Tokenizer
from fedtext.params.corpus import Chunking


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
    assert all(13 < chunk.n_tokens <= 16 for chunk in chunks[:-1])  # a character of the text has up to 3 tokens


def words(texts: list[str], **_: Any) -> dict[str, list[list[tuple[int, int]]]]:
    """A tokenizer whose tokens are words."""
    return {"offset_mapping": [[m.span() for m in re.finditer(r"\S+", text)] for text in texts]}


def records(*rows: tuple[str, str, str | None]) -> pd.DataFrame:
    return pd.DataFrame([(c, t, label, None) for c, t, label in rows], columns=["client_id", "text", "label", "date"])


def cut(table: pd.DataFrame, *, first_only: bool = False) -> pd.DataFrame:
    return sample_records(table, words, Chunking(length=4, min_tokens=2, first_only=first_only))  # type: ignore[arg-type]


def test_a_character_without_a_token_takes_no_end_of_the_text_away() -> None:
    """SmolLM2 has none for a control character that old mail has for a dash: all later offsets were one too small."""
    text = "It came on Monday \x13 and on Friday it broke!"
    ((whole,),) = chunk_texts([text], Tokenizer("smollm2").load(), length=64, min_tokens=4)
    assert (whole.start, whole.end) == (0, len(text))


def test_a_client_s_chunks_are_numbered_over_all_its_records_in_order() -> None:
    made = cut(records(("a", "1 2 3 4 5 6", "x"), ("b", "7 8", None), ("a", "9 10 11", "y")))
    assert list(made.columns) == list(SAMPLE_COLUMNS)
    assert made[["client_id", "index", "text", "n_tokens"]].to_numpy().tolist() == [
        ["a", 0, "1 2 3 4", 4], ["a", 1, "5 6", 2], ["b", 0, "7 8", 2], ["a", 2, "9 10 11", 3]
    ]  # fmt: skip
    assert made["label"].isna().tolist() == [False, False, True, False]


def test_a_short_rest_is_dropped_and_text_is_never_rendered_again() -> None:
    made = cut(records(("a", "1  2\n3 4 5", None)))
    assert made["text"].tolist() == ["1  2\n3 4"]


def test_one_sample_a_document_is_its_first() -> None:
    made = cut(records(("a", "1 2 3 4 5 6", "x"), ("b", "7", None), ("a", "9 10 11 12 13 14", "y")), first_only=True)
    assert made[["client_id", "index", "text"]].to_numpy().tolist() == [
        ["a", 0, "1 2 3 4"], ["b", 0, "7"], ["a", 1, "9 10 11 12"]
    ]  # fmt: skip


def test_a_chunk_has_its_record_s_split() -> None:
    table = records(("a", "1 2 3 4 5 6", "x"), ("a", "7 8", None)).assign(split=["test", "train"])
    made = cut(table)
    assert made["split"].tolist() == ["test", "test", "train"]
    assert list(made.columns) == [*SAMPLE_COLUMNS, "split"]


def test_no_records_make_no_samples() -> None:
    made = cut(records())
    assert made.empty
    assert list(made.columns) == list(SAMPLE_COLUMNS)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.integers(1, 40))
def test_a_bound_takes_one_sample_of_every_text_before_a_second_of_any(sizes: list[int], most: int) -> None:
    clients = np.repeat([f"text {i}" for i in range(len(sizes))], sizes)
    samples = pd.DataFrame({"client_id": clients, "text": np.arange(len(clients)).astype(str)})
    kept = spread_samples(samples, most)
    assert len(kept) == min(most, len(samples))
    assert kept["text"].astype(int).is_monotonic_increasing
    counts = kept["client_id"].value_counts().reindex(np.unique(clients), fill_value=0)
    fewest = counts[counts < np.unique(clients, return_counts=True)[1]].min()  # of those with samples to spare
    assert np.isnan(fewest) or counts.max() <= fewest + 1
    assert spread_samples(samples, None) is samples


def test_draws_differ_and_one_is_the_same_again() -> None:
    samples = pd.DataFrame({"client_id": [str(i // 2) for i in range(40)], "text": [str(i) for i in range(40)]})
    drawn = [spread_samples(samples, 10, draw) for draw in (0, 1, 1)]
    assert not drawn[0].equals(drawn[1])
    assert drawn[1].equals(drawn[2])
    assert all(one["client_id"].is_unique for one in drawn)
    assert spread_samples(samples, 10).equals(drawn[0])
