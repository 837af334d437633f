"""What reads like text, and what a small model writes when it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.public import stdlib_records
from fedtext.generation.cleaning import clean_samples, is_legible, pass_quality_filter, repeated_share
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
        *("Hi {customer_name}, all is well.", "Hi {{ name }}, all is well.", "Hi <order_id>, all is well."),
        *("Order [order-id] is late.", "Order [Order #] is late.", "Hi &lt;name&gt;, all is well."),
        *("Ma [référence de l'achat] est fausse.", "尊敬的[您的姓名]，我的订单没有到。", "Уважаемый [Ваше имя], жду."),
        *("我要退款。" * 6, "可以退款吗？" * 5, "返金してください。" * 6, "ขอเงินคืนได้ไหม" * 5),
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
        "<p>The parcel is late.</p> <b>Urgent</b><br/>",
        "The letters [a-zA-Z0-9] and the pages [3-9] are in list[int], and so is n^{2}.",
        *("注文がまだ届きません。いつ届きますか？返金もお願いします。", "主治医师说可以出院，但是我还是觉得头晕。"),
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


def test_a_text_in_a_script_or_a_language_of_its_own_is_dropped() -> None:
    usual = [f"Return the {thing} that was given to the function." for thing in "abcdefghijklmnopqrstuvwx"]
    strays = ["ファイルを読み込む。", "Lee el archivo que se encuentra en el directorio."]
    assert pass_quality_filter([*usual, *strays]) == [True] * 24 + [False] * 2
    assert pass_quality_filter(strays) == [True] * 2
