"""Where sentences end, in any script.

Whoever trains on an answer teaches its end, too: a model that learns from answers cut off by a limit on their tokens
learns to stop in the middle of a sentence.
"""

from __future__ import annotations

import re

CLOSING = r"[\"'”’»)\]*_`」』）]*"
MARKS = ".!?…؟۔।॥։።។"  # a space or the text's end follows them
WIDE_MARKS = "。！？｡"  # of scripts without spaces: nothing need follow
SHORT = r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bNo)(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)(?<!\b[A-Z])"
SENTENCE_END = re.compile(
    rf"(?<!^\d)(?<!^\d\d){SHORT}[{MARKS}]{CLOSING}(?=\s|$)|[{WIDE_MARKS}]{CLOSING}", re.MULTILINE
)  # "2." begins an item of a list
LINE_END = re.compile(r"\S(?=\s*\n)")


def whole_sentences(text: str) -> str:
    """The text up to the last end of a sentence or of a line; all of it where it has neither."""
    ends = [found.end() for ending in (SENTENCE_END, LINE_END) for found in ending.finditer(text.rstrip())]
    return text[: max(ends)] if ends else text


def to_last_sentence(text: str) -> str:
    """The text up to where its last whole sentence ends; all of it where none does."""
    ends = [found.end() for found in SENTENCE_END.finditer(text.rstrip())]
    return text[: ends[-1]] if ends else text


def ends_a_sentence(text: str) -> bool:
    """Whether the text ends where a sentence does."""
    ends = [found.end() for found in SENTENCE_END.finditer(text.rstrip())]
    return bool(ends) and ends[-1] == len(text.rstrip())
