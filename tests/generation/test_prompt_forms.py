"""Requests as generators read them, to the letter, and samples cut out of what comes back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.generation.messages import without_greeting
from fedtext.generation.prompt_forms import Chat, Labelled, Page, PromptForm, SampleList, prompt_form, sample_list
from fedtext.models.generator import Framing
from fedtext.params.generation import Sampler
from tests.parameters import conf_base
from tests.refusals import refuses

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


CHAT = """I collect questions to a bank about cards. Here are some:

"Where is it?"

"Is it lost?"

Please write a new one about cards, post."""


def test_a_chat_shows_its_examples_as_quotations_inside_one_message() -> None:
    assert Chat("questions to a bank").request([" Where is it?\n", "Is it lost?"], "cards", "post") == CHAT
    assert Chat().request(["Hello."]) == 'I collect texts. Here are some:\n\n"Hello."\n\nPlease write a new one.'
    assert Chat().request([], None, "rain") == "I collect texts. Please write a new one about rain."


def test_a_chat_opens_its_answer_inside_a_quotation() -> None:
    framing = Chat("questions to a bank").framing
    assert (framing.chat, framing.stops, framing.closing) == (True, ('"\n', "”\n"), '"')
    assert framing.opening == 'Here is one of the questions to a bank:\n\n"'
    assert Chat().framing.opening == 'Here is one of the texts:\n\n"'
    assert framing.message("Write.") == "Write. Answer with it alone, in quotation marks."
    begun = replace(framing, begun=("My card", "Why"))
    assert begun.message("Write.", 1) == 'Write. Begin it with "Why". Answer with it alone, in quotation marks.'
    assert [begun.before(number) for number in (0, 1)] == ["My card", "Why"]


@pytest.mark.parametrize(
    ("answer", "sample"),
    [
        ('  Is it lost?"\n', "Is it lost?"),
        ('Is it lost?" This is a question.', "Is it lost?"),
        ('He said "no" and left."\n\nI hope that helps', 'He said "no" and left.'),
        ('"No," he said. "Not (“ever”)."" And more.', '"No," he said. "Not (“ever”)."'),
        ("Is it lost?” And more", "Is it lost?"),
        ("Wo ist meine Karte?“\n", "Wo ist meine Karte?"),
        ("Wo ist sie?“ Das ist eine Frage.", "Wo ist sie?"),
        ('Er sagte „nein“ und ging." Mehr', "Er sagte „nein“ und ging."),
        ('„Wo ist sie?“, fragte er."', "„Wo ist sie?“, fragte er."),
        ("Er sagte „nein“.“ Mehr", "Er sagte „nein“."),
        ('他说：“不行”，就走了。" 好', "他说：“不行”，就走了。"),
        ("Cut at the lim", "Cut at the lim"),
        ("One line,\nanother.", "One line,\nanother."),
        ('Is it lost?\n\nThis is a question that "customers" ask.', "Is it lost?"),
        ("Two parts.\n\nThe second one.", "Two parts.\n\nThe second one."),
        ('Where is it?\n\nBest regards,\nEmily"', "Where is it?"),
        ("Dear Emily Johnson,\n\nWhere is it?", "Where is it?"),
        ("Dear Emily Johnson,", ""),
        ('"', ""),
        ("", ""),
    ],
)
def test_a_chat_s_answer_ends_at_the_mark_that_closes_its_quotation(answer: str, sample: str) -> None:
    assert Chat().cut(answer) == sample


@given(st.text(alphabet=st.characters(blacklist_characters='"„“”')), st.text())
def test_a_paragraph_without_quotations_comes_back_whole_from_its_own_quotation(text: str, more: str) -> None:
    paragraph = text.lstrip().partition("\n\n")[0]
    assert Chat().cut(f'{paragraph}" {more}') == without_greeting(paragraph).strip()


def test_a_labelled_prompt_names_the_class_every_time() -> None:
    request = Labelled("questions to a bank").request(["Where is it?"], "cards", "post")
    assert request == (
        "Questions to a bank.\n\nClass: cards\nTopic: post\nText: Where is it?\n\nClass: cards\nTopic: post\nText:"
    )
    assert Labelled().cut(" Is it lost?\n\nClass: cards\nText: No.") == "Is it lost?"
    with refuses("labelled-prompt-without-class"):
        Labelled().request(["x"])


@pytest.mark.parametrize("form", [SampleList(), Chat(), Labelled()])
def test_a_class_is_named_in_words(form: PromptForm) -> None:
    asked = form.request(["one"], "fast_food\t5_stars")
    assert "fast food, 5 stars" in asked
    assert "_" not in asked


DOCSTRING = 'def {name}(self):\n    """{text}"""\n\n\n'


def test_a_page_has_its_topic_where_the_page_names_it() -> None:
    page = Page(DOCSTRING)
    assert page.request([], topic="File I/O") == 'def file_i_o(self):\n    """'
    assert page.request([], "json", "File I/O") == 'def json_file_i_o(self):\n    """'
    assert Page("{topic}. {text}").request([], topic="File I/O") == "File I/O."


def test_a_page_shows_examples_where_no_topic_is_named() -> None:
    shown = 'def texts(self):\n    """Close the file."""\n\n\ndef texts(self):\n    """'
    assert Page(DOCSTRING).request([" Close the file.\n"]) == shown
    assert Page(DOCSTRING).request(["Close the file."], topic="files") == 'def files(self):\n    """'
    labelled = Page("{topic}: {text}").request(["Where is it?"], "fast_food")
    assert labelled == "fast food: Where is it?\nfast food:"


@given(st.text(alphabet="abc: \n"), st.text(alphabet="abc: \n"), st.text(alphabet="abc", min_size=1))
def test_a_page_is_whole_again_with_its_text_and_no_request_ends_with_a_space(
    before: str, after: str, text: str
) -> None:
    """A tokenizer puts a space and the word behind it in one token, so the space belongs to the text."""
    page = Page(f"{before}{{text}}{after}")
    request = page.request([], topic="anything")
    assert not request.endswith(" ")
    assert request + page.framing.lead + text + page.framing.closing == f"{before}{text}{after or chr(10)}"


def test_a_page_is_trained_on_up_to_where_it_goes_on() -> None:
    assert Page(DOCSTRING).framing == Framing(closing='"""\n\n\n', stops=('"""', "\n\n"))
    assert Page("Customer: {text}").framing == Framing(lead=" ", closing="\n", stops=("\n", "\n\n"))


@pytest.mark.parametrize(
    ("written", "sample"),
    [
        ('Close the file."""\n        self.f.close()', "Close the file."),
        ('\n    Close the file,\n    and what it holds.\n    """', "Close the file, and what it holds."),
        ("Close the file.\n\n    Args:\n        None.", "Close the file."),
        ("Cut at the lim", "Cut at the lim"),
        ('"""', ""),
    ],
)
def test_a_page_s_sample_is_one_paragraph_in_one_line(written: str, sample: str) -> None:
    assert Page(DOCSTRING).cut(written) == sample


@given(st.text(), st.text(alphabet="abc :\n", min_size=1))
def test_a_page_s_sample_ends_with_the_page(text: str, after: str) -> None:
    """Whatever is written inside a page comes back, as far as the first paragraph and the page's own mark."""
    page = Page(f"{{text}}{after}")
    assert page.cut(text).split() == text.lstrip().partition(page.framing.stops[0])[0].partition("\n\n")[0].split()


def test_a_parameter_gives_a_page() -> None:
    told = conf_base(Sampler, prompt=r"Customer: {text}\nAgent:", description="questions")
    assert prompt_form(told) == Page("Customer: {text}\nAgent:", "questions")


@pytest.mark.parametrize("prompt", ["lists", "{text} and {text}", "{topic}", ""])
def test_what_is_neither_form_nor_page_is_refused(prompt: str) -> None:
    with refuses("unknown-prompt-form", parameter="generation.prompt"):
        conf_base(Sampler, prompt=prompt)


def test_a_parameter_names_the_form() -> None:
    forms = [prompt_form(conf_base(Sampler, prompt=name)) for name in ("list", "chat", "labelled")]
    assert [type(form) for form in forms] == [SampleList, Chat, Labelled]
    assert [form.framing.chat for form in forms] == [False, True, False]


def test_a_parameter_says_what_the_texts_are() -> None:
    told = conf_base(Sampler, prompt="chat", description=" letters. ")
    assert prompt_form(told).request([]) == "I collect letters. Please write a new one."
    with refuses("empty-description", parameter="corpus.description"):
        conf_base(Sampler, description=" . ")
