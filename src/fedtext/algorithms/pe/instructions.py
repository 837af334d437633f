"""Variation by instruction, as Aug-PE asks for it: a text in other words, or with its gaps filled, in a drawn tone.

A chat model gets one message and goes on inside an open quotation, as in `fedtext.generation.prompt_forms.Chat`. Any
other model continues a page that has the text and the instruction, up to the end of a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from fedtext.embedding.words import WORD
from fedtext.generation.prompt_forms import ANYTHING, Chat, PromptForm
from fedtext.models.generator import Framing
from fedtext.params.generation import Sampler
from fedtext.params.pe import Pe
from fedtext.params.task import in_words
from fedtext.seeding import stream
from fedtext.system.missing import nullable

GAP = "_"


@dataclass(frozen=True)
class Continued:
    """A page for a model that continues text: what is written anew is the line behind the instruction.

    Attributes:
        description: What the samples are, in the plural; not written on the page.
    """

    description: str | None = None
    framing: ClassVar[Framing] = Framing(lead=" ", closing="\n", stops=("\n",))
    sentences: ClassVar[bool] = False

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Return the page of one text; `topic` is the instruction."""
        (text,) = examples
        about = f" (about {in_words(label)})" if label else ""
        instruction = topic or ""
        return f"Text{about}: {_one_line(text)}\n{instruction[:1].upper()}{instruction[1:]}:"

    def cut(self, text: str) -> str:
        """Return the first line."""
        return text.strip().partition("\n")[0].strip()


@dataclass(frozen=True)
class Asked(Chat):
    """A message with one text in quotation marks and the instruction; the answer begins inside a quotation."""

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Return the message of one text; `topic` is the instruction."""
        (text,) = examples
        about = f" about {in_words(label)}" if label else ""
        shown = f'Here is one of the {self.description or ANYTHING}{about}:\n\n"{text.strip()}"'
        return f"{shown}\n\nPlease write it anew: {topic}."


def instruction_form(sampler: Sampler) -> PromptForm:
    """Return the form of an instruction: a message where the sampler asks in messages, else a page."""
    return (Asked if sampler.prompt == "chat" else Continued)(sampler.description)


def instruction_prompts(parents: pd.DataFrame, evolution: Pe, sampler: Sampler, stage: str) -> pd.DataFrame:
    """Build an instruction for every parent, with a tone of its own.

    Returns:
        Columns `prompt_id`, `prompt`, `label`.
    """
    rng, form = stream(evolution.seed, "instructions", stage), instruction_form(sampler)
    labels, filling = nullable(parents["label"]), evolution.variation == "blank_filling"
    asked = []
    for text, label in zip(parents["text"], labels, strict=True):
        shown = with_gaps(text, evolution.blanks, rng) if filling else text
        asked.append(form.request([shown], label, _instruction(evolution.tones, rng, filling=filling)))
    return pd.DataFrame({"prompt_id": np.arange(len(parents)), "prompt": asked, "label": labels})


def with_gaps(text: str, share: float, rng: np.random.Generator) -> str:
    """Return the text with a `share` of its words, on average, each replaced by `GAP`; marks and line ends stay."""
    return WORD.sub(lambda word: GAP if word[0].isalnum() and rng.random() < share else word[0], text)


def _instruction(tones: Sequence[str], rng: np.random.Generator, *, filling: bool) -> str:
    tone = f", {tones[int(rng.integers(len(tones)))]}" if tones else ""
    what = f"the whole text with each gap {GAP} filled in" if filling else "the same in other words"
    return f"{what}{tone}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
