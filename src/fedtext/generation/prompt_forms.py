"""Prompt forms (templates): each builds the request for one sample, and cuts the response to the sample.

A request has examples, and may name a class (`label`, put in words), a `topic` and a `description` of the texts.
`SampleList` is POPri's Figure 5, and suits a model that continues text. A prompt lists three public samples and ends
where the fourth should begin; the response up to the heading of the fifth is one synthetic sample. The bundled
generator is pretrained on such lists. `Chat` suits a chat model: its answer is started inside a quotation, so that it
holds the sample and no talk about it. `Labelled` repeats the class before every example, for a model that would
otherwise ignore it. `Page` is a document-style prompt: the text in a document where such texts are found, as in
pretraining data.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

from fedtext.generation.messages import without_greeting
from fedtext.generation.phrases import starting_with
from fedtext.models.generator import Framing
from fedtext.params.generation import NAME, TEXT, TOPIC, PromptName, Sampler
from fedtext.params.task import in_words
from fedtext.system.errors import InputError

SAMPLE_MARKER = "Original Text Sample"
LISTED = 6  # 'List of 6 diverse original text samples', POPri Figure 5
SHOTS = 3  # 'randomly sampling three samples', POPri section 3.1


def header(label: str | None = None, description: str | None = None) -> str:
    """Return the first line of a prompt; `label` names the class in conditional generation (Algorithm 3)."""
    subject = f" about {label}" if label else ""
    return f"List of {LISTED} diverse original {description or 'text samples'}{subject}:\n"


def heading(position: int) -> str:
    """Return the line before sample number `position` (1-based)."""
    return f"{SAMPLE_MARKER} {position}\n"


def sample_list(samples: Sequence[str], label: str | None = None, description: str | None = None) -> str:
    """Return the list: header, then every sample under its heading."""
    listed = "".join(f"{heading(i)}{text.strip()}\n" for i, text in enumerate(samples, start=1))
    return header(label, description) + listed


ANYTHING = "texts"
PARAGRAPH = "\n\n"  # ends one
HEADING = re.compile(r"^.*\btext sample", re.IGNORECASE | re.MULTILINE)
QUOTED = "Answer with it alone, in quotation marks."
CLOSED = ('"\n', "”\n")  # a quotation, at a line's end
AFTERWARDS = starting_with(  # a paragraph that comments on the sample, or signs it
    r"this (?:message|text|note|review|post|email|letter|question|abstract|one|is|was)\b",
    r"here(?:'s| is| are)\b",
    r"i (?:added|included|tried|wrote|hope this)\b",
    r"(?:answer|response|explanation|title|subject|source|example|note)s?\b.{0,20}:",
    r"let me know\b",
    r"please (?:write|let me know|note)\b",
    r"[\[({<*#-]",
    r"\d+[.)]",
    r"(?:best|kind|warm|sincere) (?:regards|wishes)",
    r"(?:regards|sincerely|yours|cheers|thanks|thank you|love)\b[^.?!]{0,30}$",
    r"(?:bien )?cordialement\b|bien à vous\b|(?:un )?saludos?\b|atentamente\b",
    r"(?:mit )?(?:freundlichen?|viele|beste) grüßen?\b",
    "此致|祝好|顺颂|مع (?:خالص |أطيب )?(?:التحية|التحيات|تحياتي)",
)
# A straight mark opens before a word, else it closes; “ opens in most languages and closes in German („so“).
MARK = re.compile(r'(?P<opens>„|(?<![^\s(\[{])"(?=\S)|(?<!\S)“|“(?!$|[\s.,;:!?…)\]}"“”»]))|["“”]')


class PromptForm(Protocol):
    """A prompt template: it builds requests and cuts responses."""

    @property
    def description(self) -> str | None:
        """The samples' kind, in the plural; None: not mentioned."""

    @property
    def framing(self) -> Framing:
        """The presentation of the request to a generator: where the sample begins and ends."""

    @property
    def sentences(self) -> bool:
        """True if a sample is made of whole sentences; else it may be a piece of a text."""

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Return the request for one sample like the `examples`, of class `label`, about `topic`."""

    def cut(self, text: str) -> str:
        """Return the sample in a response; empty if there is none."""


@dataclass(frozen=True)
class SampleList:
    """A numbered list of samples (POPri, Figure 5), which the model continues with the next sample.

    Attributes:
        description: What the samples are ("questions that customers ask their bank"); None: text samples.
    """

    description: str | None = None
    framing: ClassVar[Framing] = Framing(closing="\n", stops=(SAMPLE_MARKER,))
    sentences: ClassVar[bool] = False

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Return the list, and the heading of the requested sample."""
        listed = sample_list(examples, _subject(label, topic), self.description)
        return f"{listed}{heading(len(examples) + 1)}"

    def cut(self, text: str) -> str:
        """Cut at the first line that mentions text samples as the list does: the next heading, or a model's own."""
        return HEADING.split(text, maxsplit=1)[0].strip()


@dataclass(frozen=True)
class Chat:
    """One message with the examples in quotation marks; the answer is started inside an open quotation.

    A sample is all that is quoted, in whole sentences, without a greeting. Comments on it and signatures are left out.

    Attributes:
        description: What the samples are, in the plural ("questions that customers ask their bank"); None: texts.
    """

    description: str | None = None
    sentences: ClassVar[bool] = True

    @property
    def framing(self) -> Framing:
        """A message, whose answer ends where the quotation is closed at a line's end."""
        opening = f'Here is one of the {self.description or ANYTHING}:\n\n"'
        return Framing(
            chat=True, opening=opening, closing='"', format_instruction=QUOTED, stops=CLOSED, letter_first=True
        )

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Return the examples, all of class `label`, then the task; the task alone where there is no example."""
        collected = f"I collect {self.description or ANYTHING}{_about(_subject(label, None))}."
        shown = "".join(f'\n\n"{text.strip()}"' for text in examples)
        listed = f" Here are some:{shown}\n\n" if examples else " "
        return f"{collected}{listed}Please write a new one{_about(_subject(label, topic))}."

    def cut(self, text: str) -> str:
        """Cut at the mark that closes the quotation, or at a comment on it; quotations inside the sample stay."""
        first, *others = without_greeting(_quoted(text)).split(PARAGRAPH)
        sample = itertools.takewhile(lambda paragraph: not AFTERWARDS.match(paragraph), others)
        return PARAGRAPH.join([first, *sample]).strip()


@dataclass(frozen=True)
class Labelled:
    """A text that names the class before every sample, the requested one included.

    Attributes:
        description: What the samples are, once at the top; None: not mentioned.
    """

    description: str | None = None
    framing: ClassVar[Framing] = Framing(closing="\n", stops=("\nClass:",))
    sentences: ClassVar[bool] = False

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Return class, topic and text of every example, then class and topic of the requested sample.

        Raises:
            ValueError: No class is named.
        """
        if label is None:
            raise InputError(
                "a labelled prompt needs a class: declare labels, or set generation.prompt=list",
                code="labelled-prompt-without-class",
            )
        of_topic = f"Topic: {topic}\n" if topic else ""
        intro = f"{self.description[:1].upper()}{self.description[1:]}.\n\n" if self.description else ""
        head = f"Class: {in_words(label)}\n{of_topic}Text:"
        return intro + "".join(f"{head} {text.strip()}\n\n" for text in examples) + head

    def cut(self, text: str) -> str:
        """Cut at the next class."""
        return text.partition("\nClass:")[0].strip()


@dataclass(frozen=True)
class Page:
    """A document where such texts are found, as a docstring in code, up to where the requested text begins.

    A sample is one paragraph, in one line, since a page breaks lines at its width.

    Attributes:
        page: The document around a text, with `{text}` once. Before it, `{topic}` is the topic or class in words, and
            `{name}` the same as a name in code.
        description: What the samples are, in the plural; not written on the page.
    """

    page: str
    description: str | None = None
    sentences: ClassVar[bool] = False

    @property
    def framing(self) -> Framing:
        """A text that begins with the spaces before it, and ends where the page continues.

        A tokenizer joins a space and the word behind it in one token. After a space alone, numbers are the likeliest.
        """
        before, _, after = self.page.partition(TEXT)
        closing = after or "\n"
        mark = closing.strip().partition("\n")[0] or closing
        return Framing(lead=before[len(before.rstrip(" ")) :], closing=closing, stops=(mark, PARAGRAPH))

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Return the page of a text about class and topic, up to its `lead`; without a topic, after the examples.

        Public texts with topics were generated on such pages by the same model. Shown again, they make it repeat
        itself.
        """
        subject = _subject(label, topic) or ANYTHING
        name = "_".join(re.findall(r"\w+", subject.casefold()))
        before = self.page.partition(TEXT)[0].replace(TOPIC, subject).replace(NAME, name)
        shown, framing = () if topic else examples, self.framing
        return "".join(f"{before}{text.strip()}{framing.closing}" for text in shown) + before.removesuffix(framing.lead)

    def cut(self, text: str) -> str:
        """Cut where the page continues, and keep the first paragraph."""
        mark, paragraph = self.framing.stops
        return " ".join(text.lstrip().partition(mark)[0].partition(paragraph)[0].split())


def _quoted(text: str) -> str:
    """Cut at the mark that closes the quotation."""
    inside, text = 0, text.lstrip()
    for mark in MARK.finditer(text):
        if mark["opens"]:
            inside += 1
        elif inside == 0:
            return text[: mark.start()]
        else:
            inside -= 1
    return text


FORMS: dict[PromptName, type[SampleList] | type[Chat] | type[Labelled]] = {
    "list": SampleList,
    "chat": Chat,
    "labelled": Labelled,
}


def prompt_form(sampler: Sampler) -> PromptForm:
    """Return the form that a sampler names, with the sampler's description of the texts."""
    form = FORMS.get(cast("PromptName", sampler.prompt))
    return Page(sampler.prompt, sampler.description) if form is None else form(sampler.description)


def _subject(label: str | None, topic: str | None) -> str | None:
    """Return class and topic in one phrase, None if there is neither."""
    return ", ".join(filter(None, [label and in_words(label), topic])) or None


def _about(subject: str | None) -> str:
    return f" about {subject}" if subject else ""
