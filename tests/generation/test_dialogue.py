"""Dialogues: the paper's forms, prompts cut on the left so that answers stay, empty answers as zeros."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.generation.dialogue import SUMMARY, Dialogue, embedded_answers
from fedtext.models.encoder import Encoder, load_encoder
from tests.pipelines.conftest import HashEncoder
from tests.refusals import refuses


def test_the_paper_s_forms() -> None:
    assert Dialogue().head("How?") == "Human: How?\n\nAssistant:"
    assert (
        Dialogue().head("Human: How?\n\nAssistant: So.\n\nHuman: And?\n\nAssistant:").startswith("Human: How?\n\nAss")
    )
    assert Dialogue(answer_name=SUMMARY).head("A post.") == "A post.\n\nSummary:"
    assert Dialogue(chat=True).request([], topic="How?") == "How?"
    assert Dialogue(chat=True).framing.chat


def test_a_message_asks_what_a_person_would() -> None:
    """HH and OpenAssistant write transcripts, and a post alone asks for nothing; win rates ask plain questions."""
    ask = Dialogue(chat=True)
    assert ask.request([], topic="Human: How?\n\nAssistant:") == "How?"
    longer = "Human: How?\n\nAssistant: So.\n\nHuman: And now?\n\nAssistant:"
    assert ask.request([], topic=longer) == longer
    post = Dialogue(chat=True, answer_name=SUMMARY).request([], topic="A long post.")
    assert post.startswith("A long post.\n\nSummarise")
    assert Dialogue().cut(" So.\n\nHuman: And?") == "So."
    with refuses("dialogue-without-examples"):
        Dialogue().request(["an example"], topic="How?")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("offline", device="cpu")


def test_a_long_prompt_loses_its_beginning_and_answers_stay_apart(encoder: Encoder) -> None:
    prompt = "never mind the ferry at the harbour " * 80
    answers = [["Yes, gladly.", "No, certainly not, and why would you ask?"]]
    (rows,) = embedded_answers(encoder, Dialogue(), [prompt], answers, label="x")
    assert np.linalg.norm(rows[0] - rows[1]) > 0.05
    by_windows = encoder.encode([f"{Dialogue().head(prompt)} {answer}" for answer in answers[0]])
    assert np.linalg.norm(by_windows[0] - by_windows[1]) < np.linalg.norm(rows[0] - rows[1])
    (head,) = encoder.fitted([Dialogue().head(prompt)], answers)
    assert head.endswith("Assistant:")
    assert 240 <= len(encoder.model.tokenizer(f"{head} {answers[0][1]}")["input_ids"]) <= 256
    assert encoder.fitted(["short"], [["answer"]]) == ["short"]
    assert encoder.fitted(["a head"], [["word " * 400]]) == [""]


def test_an_empty_answer_is_zeros_and_a_row_is_a_function_of_its_own_prompt() -> None:
    whole = embedded_answers(HashEncoder(), Dialogue(), ["p", "q"], [["a", ""], ["b", "c"]], label="x")
    assert whole.shape == (2, 2, HashEncoder.dim)
    assert not whole[0, 1].any()
    alone = embedded_answers(HashEncoder(), Dialogue(), ["q"], [["b", "c"]], label="x")
    assert np.array_equal(whole[1], alone[0])
    assert embedded_answers(HashEncoder(), Dialogue(), [], [], label="x").shape == (0, 0, HashEncoder.dim)
