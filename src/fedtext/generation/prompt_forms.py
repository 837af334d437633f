"""How a generator is asked for one sample: a form builds the request, and cuts what comes back to the sample.

A request has examples, and may name a class (`label`), a `topic` and a `description` of the texts. `SampleList` is
POPri's Figure 5. It suits a model that continues text. `Chat` suits a model that answers messages. `Labelled` repeats
the class before every example, for a model that must not miss it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from fedtext.generation.prompts import SAMPLE_MARKER, heading, sample_list
from fedtext.params.generation import PromptName
from fedtext.system.errors import InputError

EXAMPLE = re.compile(r"^\s*Example \d+:\s*|\n\s*Example \d+:")
ANYTHING = "texts"


class PromptForm(Protocol):
    """Builds requests and cuts responses.

    Attributes:
        chat: Whether a request is a message that is answered, or the beginning of a text that goes on.
        stop: The text that follows a sample in a continuation, None if nothing does.
    """

    @property
    def chat(self) -> bool:
        """Whether the request is a message."""

    @property
    def stop(self) -> str | None:
        """What follows a sample."""

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Asks for one sample like the `examples`, of class `label`, about `topic`."""

    def cut(self, text: str) -> str:
        """The sample in a response; empty if there is none."""


@dataclass(frozen=True)
class SampleList:
    """A list of samples that goes on (POPri, Figure 5): the model continues it with the next sample.

    Attributes:
        description: What the samples are ("questions that customers ask their bank"); None: text samples.
    """

    description: str | None = None
    chat: ClassVar[bool] = False
    stop: ClassVar[str] = SAMPLE_MARKER

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """The list, and the heading of the sample that is asked for."""
        listed = sample_list(examples, _subject(label, topic), self.description)
        return f"{listed}{heading(len(examples) + 1)}"

    def cut(self, text: str) -> str:
        """Up to the full marker, so that 'Original' and 'Origin' may occur in a text."""
        return text.partition(self.stop)[0].strip()


@dataclass(frozen=True)
class Chat:
    """One message with the examples inside, which the model's own chat template surrounds.

    Attributes:
        description: What the samples are; None: texts.
    """

    description: str | None = None
    chat: ClassVar[bool] = True
    stop: ClassVar[None] = None

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """The examples, then the task; the task alone where there is no example."""
        kind, about = self.description or ANYTHING, _about(_subject(label, topic))
        if not examples:
            return f"Write one original example of {kind}{about}. Reply with its text alone."
        shown = "".join(f"Example {i}:\n{text.strip()}\n\n" for i, text in enumerate(examples, start=1))
        return (
            f"These are examples of {kind}{about}.\n\n{shown}"
            f"Write one new, original example of the same kind{about}. Reply with its text alone."
        )

    def cut(self, text: str) -> str:
        """Without a heading that the model repeats, and up to a further example that it adds."""
        first = EXAMPLE.match(text)
        return EXAMPLE.split(text[first.end() :] if first else text, maxsplit=1)[0].strip()


@dataclass(frozen=True)
class Labelled:
    """A text that names the class before every sample, the one asked for included.

    Attributes:
        description: What the samples are, said once at the top; None: nothing is said.
    """

    description: str | None = None
    chat: ClassVar[bool] = False
    stop: ClassVar[str] = "\nClass:"

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Class, topic and text of every example, then class and topic of the sample asked for.

        Raises:
            ValueError: No class is named.
        """
        if label is None:
            raise InputError("a labelled prompt needs a class: declare labels, or set generation.prompt=list")
        of_topic = f"Topic: {topic}\n" if topic else ""
        intro = f"{self.description[:1].upper()}{self.description[1:]}.\n\n" if self.description else ""
        head = f"Class: {label}\n{of_topic}Text:"
        return intro + "".join(f"{head} {text.strip()}\n\n" for text in examples) + head

    def cut(self, text: str) -> str:
        """Up to the next class."""
        return text.partition(self.stop)[0].strip()


FORMS: dict[PromptName, type[SampleList] | type[Chat] | type[Labelled]] = {
    "list": SampleList,
    "chat": Chat,
    "labelled": Labelled,
}


def prompt_form(name: PromptName, description: str | None = None) -> PromptForm:
    """The form that a parameter names (`sampler.prompt`)."""
    return FORMS[name](description)


def _subject(label: str | None, topic: str | None) -> str | None:
    """Class and topic in one phrase, None if there is neither."""
    return ", ".join(filter(None, [label, topic])) or None


def _about(subject: str | None) -> str:
    return f" about {subject}" if subject else ""
