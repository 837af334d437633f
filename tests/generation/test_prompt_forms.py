"""Requests as generators read them, to the letter, and samples cut out of what comes back."""

from __future__ import annotations

import pytest

from fedtext.generation.prompt_forms import Chat, Labelled, SampleList, prompt_form
from fedtext.generation.prompts import sample_list

FIGURE_5 = """List of 6 diverse original text samples about tea:
Original Text Sample 1
green
Original Text Sample 2
black
Original Text Sample 3
"""


def test_a_list_is_figure_5_to_the_letter() -> None:
    assert SampleList().request([" green\n", "black"], "tea") == FIGURE_5
    assert SampleList().request(["green"]) == (
        "List of 6 diverse original text samples:\nOriginal Text Sample 1\ngreen\nOriginal Text Sample 2\n"
    )


def test_a_list_goes_on_as_the_longer_list() -> None:
    samples = list("abcdef")
    assert SampleList().request(samples[:5], "tea") + "f\n" == sample_list(samples, "tea")


def test_a_list_names_topic_and_description() -> None:
    request = SampleList("questions to a bank").request([], "cards", "lost cards")
    assert request.startswith("List of 6 diverse original questions to a bank about cards, lost cards:\n")


CHAT = """These are examples of questions to a bank about cards.

Example 1:
Where is it?

Example 2:
Is it lost?

Write one new, original example of the same kind about cards. Reply with its text alone."""


def test_a_chat_shows_its_examples_inside_one_message() -> None:
    assert Chat("questions to a bank").request(["Where is it?", "Is it lost?"], "cards") == CHAT
    assert Chat().request([], None, "rain") == (
        "Write one original example of texts about rain. Reply with its text alone."
    )


@pytest.mark.parametrize(
    ("answer", "sample"),
    [
        ("  Is it lost?\n", "Is it lost?"),
        ("Example 3:\nIs it lost?\n\nExample 4:\nNo.", "Is it lost?"),
        ("An Example 3: inside stays.", "An Example 3: inside stays."),
        ("Two\n\nparagraphs", "Two\n\nparagraphs"),
        ("", ""),
    ],
)
def test_a_chat_s_answer_is_cut_to_one_example(answer: str, sample: str) -> None:
    assert Chat().cut(answer) == sample


def test_a_labelled_prompt_names_the_class_every_time() -> None:
    request = Labelled("questions to a bank").request(["Where is it?"], "cards", "post")
    assert request == (
        "Questions to a bank.\n\nClass: cards\nTopic: post\nText: Where is it?\n\nClass: cards\nTopic: post\nText:"
    )
    assert Labelled().cut(" Is it lost?\n\nClass: cards\nText: No.") == "Is it lost?"
    with pytest.raises(ValueError, match=r"needs a class: declare labels, or set generation\.prompt=list"):
        Labelled().request(["x"])


def test_a_parameter_names_the_form() -> None:
    assert [type(prompt_form(name)) for name in ("list", "chat", "labelled")] == [SampleList, Chat, Labelled]
    assert [prompt_form(name).chat for name in ("list", "chat", "labelled")] == [False, True, False]
    assert prompt_form("chat", "letters").request([]).startswith("Write one original example of letters.")
