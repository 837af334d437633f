"""WASP's prompts, and the good and bad texts that they show.

A prompt is zero-shot, shows examples, or shows good beside bad ones (section 4.6, Table 8, in our own words). It is
joined from whole strings, never by a format, so that braces in a text stay as they are. It ends in an open quotation
mark, and the text ends at the closing one, or with its line.

Good and bad texts of every class are those with the most near and the most far votes (Algorithm 3, SampleSelection).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.algorithms.wasp.judging import FAR, NEAR
from fedtext.generation.prompt_forms import Chat
from fedtext.models.generator import Framing
from fedtext.params.generation import Sampler
from fedtext.params.task import in_words
from fedtext.params.wasp import ATTRIBUTE, LABEL, Wasp

GOOD, BAD = "good", "bad"
COLUMNS = ("kind", "label", "model", "text")


def chosen_examples(candidates: pd.DataFrame, scores: Float[np.ndarray, "part candidate"], wasp: Wasp) -> pd.DataFrame:
    """Select `wasp.shown` good and as many bad texts of each class, the best and the worst first, of any model.

    A good text is never also bad, and none is empty. In a class with few texts the whole first half is good. Without
    far votes none is bad.

    Returns:
        Columns `kind`, `label`, `model`, `text`.
    """
    written = (candidates["text"] != "").to_numpy()
    found = []
    for label in wasp.classes:
        own = np.flatnonzero(written & of_class(candidates, label))
        chosen = {GOOD: _highest(scores[NEAR], own, min(wasp.shown, (len(own) + 1) // 2))}
        if wasp.contrast:
            chosen[BAD] = _highest(scores[FAR], np.setdiff1d(own, chosen[GOOD]), wasp.shown)
        for kind, rows in chosen.items():
            found.append(candidates.iloc[rows].assign(kind=kind)[list(COLUMNS)])
    return pd.concat(found, ignore_index=True)


def of_class(table: pd.DataFrame, label: str | None) -> np.ndarray:
    """Return a mask of the rows of a class; all, where there is no class."""
    return np.ones(len(table), dtype=bool) if label is None else (table["label"] == label).to_numpy()


def _highest(scores: Float[np.ndarray, " text"], among: Int[np.ndarray, " row"], count: int) -> np.ndarray:
    """Return the rows of the highest scores, highest first, the first row of equals first."""
    return np.asarray(among[np.argsort(-scores[among], kind="stable")[:count]])


CONTRAST_TASK = (
    "Compare the bad with the good: find what makes the good ones better. Write a new one that says something else in "
    "other words, and improve it until the good ones lie halfway between it and the bad ones."
)
IMITATION_TASK = "Write a new one of the same kind, which says something else in other words."


@dataclass(frozen=True)
class QuotedPrompt:
    """A prompt form that ends in an open quotation mark (a `PromptForm`).

    Attributes:
        noun: Name of a text, such as "movie review".
        about: Phrase that names the class; `{label}` is replaced by it.
        about_attribute: Phrase that names what texts of a class are varied by; `{attribute}` is replaced by it.
        chat: Whether the prompt is a message to a chat model.
    """

    noun: str
    about: str
    about_attribute: str = ATTRIBUTE
    chat: bool = False
    sentences: ClassVar[bool] = False

    @classmethod
    def of(cls, wasp: Wasp, sampler: Sampler) -> QuotedPrompt:
        """Return the form that the parameters describe, for a generator with this sampler."""
        return cls(wasp.noun, wasp.about, wasp.about_attribute, sampler.prompt == "chat")

    @property
    def description(self) -> str | None:
        """Return None: the noun describes a text."""
        return None

    @property
    def framing(self) -> Framing:
        """Return the framing: a text to continue, or a message whose answer continues an opened quotation."""
        if not self.chat:
            return Framing(closing='"', stops=("\n",))
        format_instruction = "Answer with it alone, in quotation marks."
        return Framing(
            chat=True,
            opening=f'The new {self.noun} is: "',
            closing='"',
            format_instruction=format_instruction,
            stops=("\n",),
        )

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Build a zero-shot prompt if there is no example, else one with the good examples alone."""
        shown = self._lines(f"The {self.noun} is: ", examples)
        task = self._task(label, topic, new=bool(examples))
        return f"{shown}{IMITATION_TASK}\n{task}" if examples else task

    def contrast(
        self, bad: Sequence[str], good: Sequence[str], label: str | None = None, topic: str | None = None
    ) -> str:
        """Build a prompt of bad examples, then good ones, then the task: a model attends most to the last ones."""
        shown = self._lines(f"A bad {self.noun} is: ", bad) + self._lines(f"A good {self.noun} is: ", good)
        return f"{shown}{CONTRAST_TASK}\n{self._task(label, topic, new=True)}"

    def cut(self, text: str) -> str:
        """Return the text up to the closing quotation mark or the line's end; quotations inside stay."""
        return Chat().cut(text.lstrip().partition("\n")[0])

    def _lines(self, head: str, texts: Sequence[str]) -> str:
        """Return the head and each text in one line."""
        return "".join(f'{head}"{" ".join(text.split())}"\n' for text in texts)

    def _task(self, label: str | None, topic: str | None, new: bool) -> str:
        of_class = "" if label is None else " " + self.about.replace(LABEL, in_words(label))
        varied = "" if topic is None else " " + self.about_attribute.replace(ATTRIBUTE, in_words(topic))
        head = f"The {'new ' if new else ''}{self.noun}{of_class}{varied}"
        return f"Please write: {head}." if self.chat else f'{head} is: "'


def round_prompt(
    examples: pd.DataFrame,
    label: str | None,
    form: QuotedPrompt,
    wasp: Wasp,
    rng: np.random.Generator,
    attribute: str | None = None,
) -> str:
    """Build a prompt for texts of a class, with a new sample of half its good and half its bad texts (section 4.6).

    Without contrast all its good texts are shown. Where a required kind has no text, none is shown.
    """
    own = examples[of_class(examples, label)]
    good, bad = (own.loc[own["kind"] == kind, "text"].drop_duplicates().tolist() for kind in (GOOD, BAD))
    if not wasp.contrast:
        return form.request(_drawn(good, wasp.shown, rng), label, attribute)
    half = wasp.shown // 2
    shown_bad, shown_good = _drawn(bad, half, rng), _drawn(good, wasp.shown - half, rng)
    if not shown_bad:
        return form.request(shown_good, label, attribute)
    return form.contrast(shown_bad, shown_good, label, attribute)


def _drawn(texts: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """Sample `count` distinct texts in random order, or all there are."""
    return [texts[i] for i in rng.permutation(len(texts))[:count]]
