"""How many prompts a set of texts takes."""

from __future__ import annotations

import pytest

from fedtext.params.generation import prompts_for


@pytest.mark.parametrize(
    ("texts", "responses", "oversample", "prompts"),
    [(400, 8, 1.0, 51), (400, 8, 1.5, 75), (400, 1, 1.0, 408), (10, 8, 1.0, 2), (8, 8, 1.0, 2), (8, 8, 1.001, 2)],
)
def test_prompts_leave_room_for_texts_that_come_out_empty(
    texts: int, responses: int, oversample: float, prompts: int
) -> None:
    assert prompts_for(texts, responses, oversample) == prompts


def test_every_class_has_the_prompts_that_its_texts_take() -> None:
    """51 prompts for 77 classes would leave 26 classes without a text."""
    assert prompts_for(400, 8, classes=77) == 77
    assert prompts_for(60, 8, classes=3) == 9  # 20 texts and one to spare are 3 prompts
    assert prompts_for(60, 8, classes=3) * 8 // 3 > 20
