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
