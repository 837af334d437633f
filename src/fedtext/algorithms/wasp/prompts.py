"""WASP's prompts, and the good and bad texts that they show.

How WASP asks for a text (section 4.6, Table 8, in words of our own): plainly, by example, or good beside bad.

A request is put together of whole pieces, never by a format, so that braces in a text stay what they are. Each ends in
an open quotation mark, and the text ends where the quotation does, or with its line.

Good and bad texts of every class (Algorithm 3, SampleSelection): the highest of the near and of the far votes.
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
from fedtext.params.wasp import LABEL, Wasp

GOOD, BAD = "good", "bad"
COLUMNS = ("kind", "label", "model", "text")


def chosen_examples(candidates: pd.DataFrame, scores: Float[np.ndarray, "part candidate"], wasp: Wasp) -> pd.DataFrame:
    """`wasp.shown` good and as many bad texts of each class, the best and the worst first, whoever wrote them.

    A good text is never also bad, and nothing empty is either. A class with few texts gives all of its first half as
    good ones. Without far votes none is bad.

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
    """Which rows are of a class; all, where there is no class."""
    return np.ones(len(table), dtype=bool) if label is None else (table["label"] == label).to_numpy()


def _highest(scores: Float[np.ndarray, " text"], among: Int[np.ndarray, " row"], count: int) -> np.ndarray:
    """Rows of the highest scores, highest first, of equals the first row first."""
    return np.asarray(among[np.argsort(-scores[among], kind="stable")[:count]])


BETWEEN = (
    "Compare the bad with the good: find what makes the good ones better. Write a new one that says something else in "
    "other words, and improve it until the good ones lie halfway between it and the bad ones."
)
ALIKE = "Write a new one of the same kind, which says something else in other words."


@dataclass(frozen=True)
class Quoted:
    """A request that ends in an open quotation mark (a `PromptForm`).

    Attributes:
        noun: What a text is.
        about: How a class is named; `{label}` stands for it.
        chat: Whether it is a message to a model that answers.
    """

    noun: str
    about: str
    chat: bool = False
    sentences: ClassVar[bool] = False

    @classmethod
    def of(cls, wasp: Wasp, sampler: Sampler) -> Quoted:
        """The form that the parameters describe, for a generator that is asked as this sampler says."""
        return cls(wasp.noun, wasp.about, sampler.prompt == "chat")

    @property
    def description(self) -> str | None:
        """The noun says what a text is."""
        return None

    @property
    def framing(self) -> Framing:
        """A text that goes on, or a message whose answer goes on inside a quotation that we open."""
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
        """Without an example zero-shot, else the good examples alone."""
        shown = self._lines(f"The {self.noun} is: ", examples)
        return f"{shown}{ALIKE}\n{self._asked(label, new=True)}" if examples else self._asked(label)

    def contrast(self, bad: Sequence[str], good: Sequence[str], label: str | None = None) -> str:
        """Bad examples, then good ones, then the task. Good ones come last, where a model looks most."""
        shown = self._lines(f"A bad {self.noun} is: ", bad) + self._lines(f"A good {self.noun} is: ", good)
        return f"{shown}{BETWEEN}\n{self._asked(label, new=True)}"

    def cut(self, text: str) -> str:
        """Up to the mark that closes the quotation or the line's end; quotations inside stay."""
        return Chat().cut(text.lstrip().partition("\n")[0])

    def _lines(self, head: str, texts: Sequence[str]) -> str:
        """A line for each text, whatever lines it has itself."""
        return "".join(f'{head}"{" ".join(text.split())}"\n' for text in texts)

    def _asked(self, label: str | None, new: bool = False) -> str:
        of_class = "" if label is None else " " + self.about.replace(LABEL, in_words(label))
        head = f"The {'new ' if new else ''}{self.noun}{of_class}"
        return f"Please write: {head}." if self.chat else f'{head} is: "'


def round_prompt(examples: pd.DataFrame, label: str | None, form: Quoted, wasp: Wasp, rng: np.random.Generator) -> str:
    """A prompt for texts of a class, with half of its good and half of its bad texts, drawn anew (section 4.6).

    Without contrast all its good texts are shown; where it has none of a kind that is wanted, none is.
    """
    own = examples[of_class(examples, label)]
    good, bad = (own.loc[own["kind"] == kind, "text"].drop_duplicates().tolist() for kind in (GOOD, BAD))
    if not wasp.contrast:
        return form.request(_drawn(good, wasp.shown, rng), label)
    half = wasp.shown // 2
    shown_bad, shown_good = _drawn(bad, half, rng), _drawn(good, wasp.shown - half, rng)
    return form.contrast(shown_bad, shown_good, label) if shown_bad else form.request(shown_good, label)


def _drawn(texts: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """So many distinct texts in any order, or all there are."""
    return [texts[i] for i in rng.permutation(len(texts))[:count]]
