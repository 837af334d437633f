"""A text begins with a letter of any script, and with no greeting."""

from __future__ import annotations

import pytest
import torch

from fedtext.generation.first_tokens import begins_a_text, never_first
from fedtext.models.language_model import LanguageModel


@pytest.mark.parametrize(
    ("text", "written", "begins"),
    [
        ("My", "My", True),
        ("Où", "OÃ¹", True),
        ("¿", "Â¿", True),
        ("Dear", "Dear", False),
        ("hello", "hello", False),
        (" My", "ĠMy", False),
        ("[", "[", False),
        ("1", "1", False),
        ("", "", False),
        ("\ufffd", "ä½", True),  # the first bytes of a Chinese letter
        ("\ufffd", "ðŁ", False),  # of an emoji
        ("\ufffd", "<0xE4>", True),
        ("\ufffd", "<0xF0>", False),
    ],
)
def test_a_token_may_be_a_text_s_first(text: str, written: str, begins: bool) -> None:
    assert begins_a_text(text, written) is begins


def test_every_row_of_the_model_has_an_answer_and_ends_are_never_first() -> None:
    tokenizer = LanguageModel("bundled:generator").tokenizer()
    rows = len(tokenizer) + 3  # padded for a processor's sake
    never = never_first(tokenizer, rows, torch.device("cpu"))
    assert never.shape == (rows,)
    assert never[len(tokenizer) :].all()
    assert never[tokenizer.all_special_ids].all()
    assert 0 < int((~never).sum()) < len(tokenizer)
