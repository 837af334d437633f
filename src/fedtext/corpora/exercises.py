"""A question about a passage as one text, so that whatever makes texts can make exercises.

The layout is one line: `Question: ... Answer: ... Passage: ...`. The passage comes last. So a model writes it knowing
what it must hold, and a text that is cut loses the end of its passage only.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LAYOUT = re.compile(r"\s*Question:\s*(.+?)\s*\bAnswer:\s*(.+?)\s*\bPassage:\s*(.+?)\s*", re.DOTALL)


class Exercise(NamedTuple):
    """A question, its answer, and the passage that holds the answer."""

    question: str
    answer: str
    passage: str

    @property
    def text(self) -> str:
        """The layout, in one line."""
        return " ".join(f"Question: {self.question} Answer: {self.answer} Passage: {self.passage}".split())

    @property
    def span(self) -> tuple[int, int] | None:
        """Where the passage holds the answer first, whatever the case of letters; None: nowhere."""
        found = re.search(re.escape(self.answer), self.passage, re.IGNORECASE)
        return found and found.span()


def exercise_in(text: str) -> Exercise | None:
    """What a text asks; None where it is of another layout, or its passage does not hold the answer.

    Spaces of any kind are one space, and a full stop behind the answer is no part of it.
    """
    found = LAYOUT.fullmatch(" ".join(text.split()))
    if found is None:
        return None
    exercise = Exercise(found[1], found[2].rstrip("."), found[3])
    return exercise if exercise.answer and exercise.span else None
