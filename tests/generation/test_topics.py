"""Topics as small models and servers list them."""

from __future__ import annotations

import pytest

from fedtext.generation.topics import named_topics, topics_framing, topics_request


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        (" Loans\n2. Lost cards\n3. Exchange ra", ["Loans", "Lost cards"]),  # goes on from our number; the end is cut
        ("Here are some topics:\n\n1. **Fees**: what a transfer costs\n2) Cash (abroad)\n- \"Top-ups\".\n* x", ["Fees", "Cash", "Top-ups"]),
        ("Mortgages", ["Mortgages"]),
        ("1. How to change fees?\n2. Other\n", ["How to change fees?"]),
        ("1. a topic that goes on and on until nobody knows any more\n2. Cards\n3. End", ["Cards"]),
        ("1. What?\n2. Tax\n3. End", ["Tax"]),
        ("1.\n2. 12\n3. --\n", []),
        ("", []),
    ],
)  # fmt: skip
def test_a_list_holds_its_topics(text: str, topics: list[str]) -> None:
    assert named_topics([text]) == topics


def test_what_most_lists_name_comes_first_in_its_first_spelling() -> None:
    lists = ["Cash\nLoans\nfees\nLoans\nend", "Fees\nLOANS\nend", "cards\nfees\nend"]
    assert named_topics(lists) == ["fees", "Loans", "Cash", "cards"]


def test_a_request_says_what_the_texts_are() -> None:
    framing = topics_framing("letters to a bank")
    assert "letters to a bank" in topics_request("letters to a bank")
    assert framing.chat
    assert framing.opening.endswith("1.")
    assert framing.message(topics_request("letters")).endswith(framing.plea)
