"""What stands around a sample: a message's plea, and answers that their writer opened himself."""

from __future__ import annotations

import pytest

from fedtext.models.generator import Framing

QUOTED = Framing(chat=True, opening='Here:\n\n"', closing='"', format_instruction="Quote it.")


def test_a_plea_closes_a_message_and_nothing_is_added_without_one() -> None:
    assert QUOTED.message("Write.") == "Write. Quote it."
    assert Framing().message("Write.") == "Write."


@pytest.mark.parametrize(
    ("answer", "from_the_sample_on"),
    [
        ('"Is it lost?"', 'Is it lost?"'),
        ("\n“Is it lost?”", "Is it lost?”"),
        ('Here is one:\n\n"Is it lost?"\nGood luck!', 'Is it lost?"\nGood luck!'),
        ("Is it lost?", "Is it lost?"),
        ('He said: "no" and left.', 'He said: "no" and left.'),
        ('Two lines\nwith "quotes"', 'Two lines\nwith "quotes"'),
        ("", ""),
    ],
)
def test_what_leads_to_a_quotation_is_taken_off(answer: str, from_the_sample_on: str) -> None:
    assert QUOTED.opened(answer) == from_the_sample_on
    assert Framing(closing="\n").opened(answer) == answer
