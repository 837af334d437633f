from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.generation.cleaning import clean_samples
from fedtext.generation.prompt_forms import SampleList
from fedtext.generation.prompts import SAMPLE_MARKER


@pytest.mark.parametrize(
    ("raw", "sample"),
    [
        (f"\n a list \n{SAMPLE_MARKER} 5\n more", "a list"),
        ("Original ideas of Origin", "Original ideas of Origin"),
        (f"{SAMPLE_MARKER} 5\n", ""),
        ("A list of samples.\nThe original text sample 5\nmore", "A list of samples."),
        ("Text samples are kept.\n", ""),
        ("The context samples a list.", "The context samples a list."),
        ("", ""),
        (" \n\t ", ""),
        ("one\ntwo\tthree", "one\ntwo\tthree"),
        ("bro\x00ken\x1b \ufffdtext\ufffd", "broken text"),
    ],
)
def test_the_sample_inside_a_continuation(tokenizer, raw, sample):
    assert clean_samples([raw], SampleList(), tokenizer, 100) == [sample]


def test_a_sample_is_cut_at_its_length_in_tokens(tokenizer):
    text = "a list of public samples returns the value that was given"
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert len(tokens) > 10
    for length in range(1, len(tokens) + 1):
        assert clean_samples([text], SampleList(), tokenizer, length) == [tokenizer.decode(tokens[:length]).strip()]


def test_nothing_from_nothing(tokenizer):
    assert clean_samples([], SampleList(), tokenizer, 5) == []


@given(texts=st.lists(st.text(max_size=60), max_size=4), length=st.integers(1, 20))
def test_cleaning_keeps_places_and_adds_nothing(tokenizer, texts, length):
    cleaned = clean_samples(texts, SampleList(), tokenizer, length)
    assert len(cleaned) == len(texts)
    for raw, sample in zip(texts, cleaned, strict=True):
        assert sample == sample.strip()
        assert SAMPLE_MARKER not in sample
        remaining = iter(raw)
        assert all(character in remaining for character in sample)
