from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.largefedbench.cleaning.parliament import strip_vocatives


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Mr. Speaker, this government acts.", "This government acts."),
        ("Yes, Mr. Speaker, it is.", "Yes, it is."),
        ("There will be a free vote, Mr. Speaker.", "There will be a free vote."),
        ("Thank you, Mr. President. I go.", "Thank you. I go."),
        ("Thank you Mr. Speaker.", "Thank you."),
        ("But Mr. Speaker, I do.", "But I do."),
        ("Mr. Speaker, Mr. Speaker, I rise.", "I rise."),
        ("Mr. Speaker I rise.", "I rise."),
        ("this bill—Mr. Speaker, this is it", "this bill—this is it"),
        ("He said: “Mr. Speaker, the sky.”", "He said: “The sky.”"),
        ("one\nMadam Speaker, two\nMr. Speaker.", "one\nTwo\n"),
        ("Mr. Speaker: the end", "The end"),
        ("No, Mr. Speaker; no.", "No; no."),
        ("Through you, Mr. Deputy Speaker, to him", "Through you, to him"),
        ("My Lords, the bill", "The bill"),
        ("Madam Chairwoman, yes", "Yes"),
        ("Mr. President and my fellow Senators, yes", "Yes"),
        ("all of us, Mr. Speaker,", "all of us,"),
        ("Mr Speaker, we spend.", "We spend."),
        ("(Mr. Chairman, I do)", "(I do)"),
    ],
)
def test_addresses_go(text: str, left: str) -> None:
    assert strip_vocatives(text).text == left


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Speaker has ruled on that.",
        "I thank Mr. Speaker, who was here.",
        "I wrote to Mr. Speaker.",
        "The Speaker, Mr. Speaker’s office",
        "I was once Mr. Chairman.",
        "the Acting Chairman said",
        "Mr. Speakerman, hello",
        "the President, Mr. Bush, said",
        "The chair is mine, Mr. Chairwell.",
    ],
)
def test_mentions_stay(text: str) -> None:
    assert strip_vocatives(text) == (text, [])


PIECES = st.sampled_from(
    [
        "Mr. Speaker,",
        "Madam Speaker,",
        ", Mr. President,",
        ", Mr. Speaker.",
        "the bill",
        "I rise.",
        "No,",
        "\n",
        "“",
        "”",
        "—",
        "and",
    ]
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=12))
def test_nothing_but_vocatives_and_their_commas_goes(pieces: list[str]) -> None:
    text = " ".join(pieces)
    stripped = strip_vocatives(text)
    removed = sum(len(vocative.split()) for vocative in stripped.vocatives)
    words = re.findall(r"\w+", text)
    left = re.findall(r"\w+", stripped.text)
    assert len(words) - len(left) == removed
    assert stripped.text.count("\n") == text.count("\n")
