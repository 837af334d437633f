"""A question about a passage as one text, so that any text generator can write exercises.

The layout is one line: `Passage: ... Question: ... Answer: ...`. In this order a small model writes exercises, as it
finds the answer in the passage that it has written. Of 24 texts of SmolLM2 four were exercises, and thirteen at
temperature 0.7; with the passage last there was one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LAYOUT = re.compile(r"\s*Passage:(.+?)\bQuestion:(.+?)\bAnswer:\s*([^\n]+)", re.DOTALL)


class Exercise(NamedTuple):
    """A question, its answer, and the passage that holds the answer."""

    question: str
    answer: str
    passage: str

    @property
    def text(self) -> str:
        """The exercise in the one-line layout."""
        return " ".join(f"Passage: {self.passage} Question: {self.question} Answer: {self.answer}".split())

    @property
    def span(self) -> tuple[int, int] | None:
        """The first place of the answer in the passage, whatever the case of letters; None if it is not there."""
        found = re.search(re.escape(self.answer), self.passage, re.IGNORECASE)
        return found and found.span()


def exercise_in(text: str) -> Exercise | None:
    """Return the exercise in a text; None if its layout differs or its passage does not hold the answer.

    Spaces of any kind count as one space. The answer ends with its line, without a full stop.
    """
    found = LAYOUT.match(text)
    if found is None:
        return None
    passage, question, answer = (" ".join(part.split()) for part in found.groups())
    exercise = Exercise(question, answer.rstrip(". "), passage)
    return exercise if all(exercise) and exercise.span else None
