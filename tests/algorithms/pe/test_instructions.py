"""Variation by instruction: one parent a prompt, in a drawn tone, with gaps where they are asked for."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.algorithms.pe.instructions import instruction_form, instruction_prompts, with_gaps
from fedtext.generation.prompt_forms import Chat
from tests.algorithms.pe.examples import evolution, table

TEXTS = ["My card was lost.\nI am at sea, 40 miles out!", "Where is the harbour?"]
TONES = ["formally", "as to a friend"]


def prompts(form: str, variation: str = "rephrasing", count: int = 1, **changes: object) -> list[str]:
    parameters = evolution(variation=variation, tones=TONES, sampler={"prompt": form}, **changes)
    parents = table(TEXTS * count, ["sea", None] * count)
    made = instruction_prompts(parents, parameters, parameters.sampler, "round 2")
    assert made["prompt_id"].tolist() == list(range(2 * count))
    assert made["label"].isna().tolist() == [False, True] * count
    found: list[str] = made["prompt"].tolist()
    return found


@pytest.mark.parametrize("form", ["chat", "list"])
def test_a_prompt_has_its_parent_its_class_and_a_tone(form: str) -> None:
    first, second = prompts(form)
    assert "lost" in first
    assert "harbour" not in first
    assert "about sea" in first
    assert "about" not in second
    assert all(any(tone in prompt for tone in TONES) for prompt in (first, second))


def test_tones_are_drawn_evenly_and_may_be_left_out() -> None:
    tones = Counter(tone for prompt in prompts("list", count=200) for tone in TONES if tone in prompt)
    assert sum(tones.values()) == 400
    assert min(tones.values()) > 150
    parameters = evolution(variation="rephrasing", tones=[])
    (prompt,) = instruction_prompts(table(["A text."]), parameters, parameters.sampler, "round 2")["prompt"]
    assert prompt == "Text: A text.\nThe same in other words:"


def test_gaps_stand_in_place_of_words_and_only_where_they_are_asked_for() -> None:
    assert not any("_" in prompt for prompt in prompts("chat"))
    first, _ = prompts("list", "blank_filling", blanks=1.0)
    assert first.startswith("Text (about sea): _ _ _ _. _ _ _ _, _ _ _!\n")
    assert "The whole text with each gap _ filled in" in first


@given(st.floats(0.1, 0.9), st.integers(0, 1000))
def test_about_the_share_of_words_is_left_out_and_marks_stay(share: float, seed: int) -> None:
    text = "word, " * 400
    found = with_gaps(text, share, np.random.default_rng(seed))
    assert re.sub("_|word", "word", found) == text
    assert abs(found.count("_") / 400 - share) < 5 * (share * (1 - share) / 400) ** 0.5


def test_a_chat_model_answers_inside_a_quotation_and_another_goes_on_with_a_line() -> None:
    asked, continued = (instruction_form(evolution(sampler={"prompt": form}).sampler) for form in ("chat", "list"))
    assert asked.framing == Chat().framing
    assert asked.cut('I lost my card."\nI hope this helps.') == "I lost my card."
    assert continued.cut(" I lost my card.\nText: another") == "I lost my card."
    assert continued.framing.stops == ("\n",)
