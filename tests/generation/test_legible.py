"""What reads like text, and what a small model writes when it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.public import stdlib_records
from fedtext.generation.legible import is_legible, repeated_share
from fedtext.params.corpus import Corpus
from tests.parameters import conf_base


@pytest.mark.parametrize(
    "text",
    [
        "What is the difference between BBB-BBBBBBBBBB and AAA?",
        "Dear [Your Name], your card has arrived.",
        "I am a customer of {bank name} in town.",
        "What is the status of [transaction details]?",
        "Dear SmolLM, I would like to close my account.",
        "Here is one of the questions that customers ask.",
        "Sure! Why was my card declined?",
        "The fees are low and the fees are fair, the fees are low and the fees are fair, the fees are low.",
        "```\n\n```\n\n```",
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
