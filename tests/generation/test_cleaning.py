"""What reads like text, and what a small model writes when it does not.

Which texts are in a writing system that hardly any other is in.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.public import stdlib_records
from fedtext.generation.cleaning import clean_samples, is_legible, minority_script_mask, repeated_share, script_of
from fedtext.generation.prompt_forms import SAMPLE_MARKER, SampleList
from fedtext.params.corpus import Corpus
from tests.parameters import conf_base


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


@pytest.mark.parametrize(
    "text",
    [
        "What is the difference between BBB-BBBBBBBBBB and AAA?",
        "Dear [Your Name], your card has arrived.",
        "I am a customer of {bank name} in town.",
        "<p>I am a customer of <bank name> in town.</p>",
        "What is the status of [transaction details]?",
        *("Hi [Customer_Name], all is well.", "Hi [customer13], all is well.", "Dear [Name/Title], hello."),
        "Dear SmolLM, I would like to close my account.",
        "Here is one of the questions that customers ask.",
        "Sure! Why was my card declined?",
        "The fees are low and the fees are fair, the fees are low and the fees are fair, the fees are low.",
        "```\n\n```\n\n```",
        "The number is 000000 or 10000000000000000.",
        "from library.dll import dll_name_to_dll_name_to_dll_name_to_dll_name_to_dll",
    ],
)
def test_what_no_person_would_write(text: str) -> None:
    assert not is_legible(text)


@pytest.mark.parametrize(
    "text",
    [
        "Why was my card declined?",
        "here I am, waiting for a card that never comes",
        "No, no, no, no, no.",
        "It costs 1000000 in all, or 0.0000001 of it.",
        "<p>The parcel is late.</p> <b>Urgent</b>",
        "A language model of proteins learns from a language model of DNA.",
        "He paid $1,000,000 into list[int] of the account [2]...",
        "Surely a transfer from one account to another account of mine takes no three days?",
    ],
)
def test_what_a_person_would_write(text: str) -> None:
    assert is_legible(text)


def test_text_by_people_is_hardly_ever_dropped() -> None:
    texts = stdlib_records(conf_base(Corpus))["text"].str.slice(0, 400).str.partition("\n\n")[0]
    assert sum(not is_legible(text) for text in texts) < 0.03 * len(texts)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=20))
def test_a_text_said_twice_repeats_about_half_of_itself(words: list[str]) -> None:
    once = [f"{word}{place}" for place, word in enumerate(words)]
    assert repeated_share(" ".join(once)) == 0
    if len(once) >= 4:
        share = repeated_share(" ".join(once * 2))
        assert share == pytest.approx((len(once) - 2) / (2 * len(once) - 2))


ENGLISH, JAPANESE, RUSSIAN = "Reads a file.", "ファイルを読み込む。", "Читает файл."


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (ENGLISH, "LATIN"),
        ("Où est la bibliothèque ? (naïveté)", "LATIN"),
        (JAPANESE, "CJK"),
        ("한국어 문장", "CJK"),
        (RUSSIAN, "CYRILLIC"),
        ("Reads файл.", "LATIN"),
        ("Читает file.", "CYRILLIC"),
        ("1 + 1 = 2", None),
        ("", None),
    ],
)
def test_a_text_is_in_the_script_of_most_letters(text: str, script: str | None) -> None:
    assert script_of(text) == script


def test_one_of_thirty_is_a_stray_and_three_of_thirty_are_not() -> None:
    assert minority_script_mask([ENGLISH] * 29 + [JAPANESE]) == [False] * 29 + [True]
    assert not any(minority_script_mask([ENGLISH] * 27 + [JAPANESE] * 3))
    assert minority_script_mask([JAPANESE] * 39 + [ENGLISH, "", "42"]) == [False] * 39 + [True, False, False]


def test_a_few_texts_have_no_strays() -> None:
    assert not any(minority_script_mask([ENGLISH] * 18 + [JAPANESE]))


@given(st.lists(st.sampled_from([ENGLISH, JAPANESE, RUSSIAN, "", "42"]), max_size=80), st.randoms())
def test_strays_are_fewer_than_a_twentieth_of_a_script_and_in_any_order(texts: list[str], random: object) -> None:
    found = minority_script_mask(texts)
    lettered = [text for text in texts if script_of(text)]
    for text in set(texts):
        own = {stray for other, stray in zip(texts, found, strict=True) if other == text}
        assert len(own) == 1  # alike texts share their fate
        if own == {True}:
            assert 20 * texts.count(text) < len(lettered)
            assert len(lettered) >= 20
    shuffled = list(texts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sorted(zip(shuffled, minority_script_mask(shuffled), strict=True)) == sorted(zip(texts, found, strict=True))
