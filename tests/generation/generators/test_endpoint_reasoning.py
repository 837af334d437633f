"""What a model says to itself before it answers is told apart, however it is marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.generation.generators.endpoint import ALONE, without_reasoning

FORMS = [  # what stands before an answer, and what an unfinished one begins with
    ("<think>Let me see.</think>\n\n", "<think>"),
    ("Let me see, as the template opened it.</think>", "<think>\nLet me"),
    ("<thinking>Let me see.</thinking>\n", "<thinking>"),
    ("<reasoning>\nLet me see.\n</reasoning>\n", "\n<reasoning>"),
    ("<seed:think>Let me see.</seed:think>", "<seed:think>"),
    ("[THINK]Let me see.[/THINK]", "[THINK]Let"),
    ("◁think▷Let me see.◁/think▷", "◁think▷"),
    ("<|begin_of_thought|>Let me see.<|end_of_thought|>\n<|begin_of_solution|>", "<|begin_of_thought|>"),
    (
        "<|channel|>analysis<|message|>Let me see.<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|channel|>analysis<|message|>Let",
    ),
    ("analysisLet me see.assistantfinal", "analysisLet me"),
]


@pytest.mark.parametrize(("before", "opening"), FORMS)
def test_the_answer_is_what_stands_behind(before: str, opening: str) -> None:
    assert without_reasoning(f"{before}I lost my card.") == "I lost my card."
    assert without_reasoning(f"{opening} me see, the user wants") == ""


def test_reasoning_alone_is_no_answer() -> None:
    assert without_reasoning(ALONE) == ""


@given(st.text(alphabet="ab <>/.\n", max_size=30))
def test_other_answers_stay_as_they_are(answer: str) -> None:
    assert without_reasoning(answer) == answer
    assert without_reasoning("I think, thinking aloud, that analysis helps. " + answer).endswith(answer)
