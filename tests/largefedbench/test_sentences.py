from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.largefedbench.cleaning.cleaner import is_prose, letter_share, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Mr. Smith met Dr. Lee. They spoke.", ["Mr. Smith met Dr. Lee.", "They spoke."]),
        ("No. We will not.", ["No.", "We will not."]),
        ("Motion No. 1 is next. Good.", ["Motion No. 1 is next.", "Good."]),
        ("In the U.S. Senate we met. Yes.", ["In the U.S. Senate we met.", "Yes."]),
        ("So do I. The end.", ["So do I.", "The end."]),
        ("J. Edgar came. He left.", ["J. Edgar came.", "He left."]),
        ("“It is so.” He sat.", ["“It is so.”", "He sat."]),
        ("The cost is 3.5 million. Fine.", ["The cost is 3.5 million.", "Fine."]),
        ("the hon. Member for Leeds spoke. Then he sat.", ["the hon. Member for Leeds spoke.", "Then he sat."]),
        ("St. John’s is far. So is Jan. 5.", ["St. John’s is far.", "So is Jan. 5."]),
        ("Wait... And then? Yes.", ["Wait...", "And then?", "Yes."]),
        ("H.R. 3057 is good. S. 1042 too.", ["H.R. 3057 is good.", "S. 1042 too."]),
        ("The then-U.S. Ambassador knew. He went.", ["The then-U.S. Ambassador knew.", "He went."]),
        ("See 930 F. Supp. 824 on this. We did.", ["See 930 F. Supp. 824 on this.", "We did."]),
        ("", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@given(
    st.lists(
        st.sampled_from(["Mr. Fox ran.", "No.", "I saw 3 cats!", "Why?", "“So.”", "etc. and", "A.B."]), max_size=12
    )
)
def test_splitting_loses_no_word(parts: list[str]) -> None:
    text = " ".join(parts)
    assert " ".join(split_sentences(text)).split() == text.split()


@pytest.mark.parametrize(
    ("sentence", "share"),
    [
        ("No.", 1.0),
        ("", 0.0),
        ("12, 13.", 0.0),
        ("It is $5,222.53.", 0.8),
        ("abc 1", 0.75),
        ("“Été!”", 1.0),
        ("a-b", 2 / 3),
    ],
)
def test_letter_share(sentence: str, share: float) -> None:
    assert letter_share(sentence) == pytest.approx(share)


@given(st.text(alphabet="abcZé ñ0123456789.,-$%—’ ", max_size=60), st.sampled_from([0.5, 0.7, 0.9]))
def test_the_quick_test_agrees_with_the_exact_share(sentence: str, share: float) -> None:
    collapsed = " ".join(sentence.split())
    assert is_prose(collapsed, share) == (letter_share(collapsed) >= share and letter_share(collapsed) > 0)
