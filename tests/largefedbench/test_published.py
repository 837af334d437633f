"""The published cleaner, and that ours does not share its fault."""

from __future__ import annotations

import pytest

from fedtext.largefedbench.cleaning.cleaner import clean_speech
from fedtext.largefedbench.cleaning.published import clean_as_published, keeps_us_turn, returns_early

TABLE = "Mr. Speaker, the roll was called. 109-2, 14-15, 26-01. It was a long day. {time}  1015"


def test_an_opening_address_ends_the_published_cleaning() -> None:
    assert returns_early(TABLE)
    cleaned = clean_as_published([TABLE])
    assert cleaned.text == "the roll was called. 109-2, 14-15, 26-01. It was a long day. {time}  1015"
    assert [removal.rule for removal in cleaned.removed] == ["vocative"]


def test_without_the_address_the_published_rules_apply() -> None:
    cleaned = clean_as_published([TABLE.removeprefix("Mr. Speaker, ")])
    assert cleaned.text == "the roll was called. It was a long day"
    assert {removal.rule for removal in cleaned.removed} == {"not_letters", "time_mark"}


def test_the_clean_reading_sanitises_both() -> None:
    assert clean_speech([TABLE], "us").text == "The roll was called. It was a long day."


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Mr. Speaker, I rise.", True),
        ("I rise.", False),
        ("Mr. Speaker, the Speaker pro tempore is right.", False),
        ("Mr. President, I ask unanimous consent that we go.", False),
        ("Mr. President, I ask unanimous consent that we go." + " And on." * 60, True),
    ],
)
def test_which_us_turns_were_clients(text: str, kept: bool) -> None:
    assert keeps_us_turn(text) is kept
