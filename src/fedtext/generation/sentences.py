"""Sentence boundaries, in any script.

A model that is trained on answers learns their ends too: trained on answers that a token limit cut off, it learns to
stop in the middle of a sentence.
"""

from __future__ import annotations

import re

CLOSING = r"(?:[ \u00a0\u202f]?»|[\"'”’“‘«›‹)\]*_`」』）])*"  # French puts a space inside quotation marks
MARKS = ".!?…؟۔।॥։።។"  # a space or the text's end follows them
WIDE_MARKS = "。！？｡။།༎"  # of scripts without spaces: nothing need follow
UNMARKED = r"(?<=[\u0e00-\u0eff])"  # Thai and Lao end a sentence by a space alone
ABBREVIATIONS = (  # a full stop ends no sentence behind them, nor behind a single capital
    *("Mr", "Mrs", "Ms", "Dr", "St", "No", "vs", r"e\.g", r"i\.e", "[A-Z]"),
    *("Nr", "Str", "Tel", "bzw", "ca", "z", "Sr", "Sra", "Dra", "núm", "tél"),
)
SHORT = "".join(rf"(?<!\b{one})" for one in ABBREVIATIONS)
SENTENCE_END = re.compile(
    rf"(?<!^\d)(?<!^\d\d){SHORT}[{MARKS}]{CLOSING}(?=\s|$)|[{WIDE_MARKS}]{CLOSING}|{UNMARKED}{CLOSING}(?=\s|$)",
    re.MULTILINE,
)  # "2." begins an item of a list
LINE_END = re.compile(r"\S(?=\s*\n)")


def whole_sentences(text: str) -> str:
    """Return the text up to the last end of a sentence or of a line; all of it where it has neither."""
    ends = [found.end() for ending in (SENTENCE_END, LINE_END) for found in ending.finditer(text.rstrip())]
    return text[: max(ends)] if ends else text


def to_last_sentence(text: str) -> str:
    """Return the text up to the end of its last whole sentence; all of it where there is none."""
    ends = [found.end() for found in SENTENCE_END.finditer(text.rstrip())]
    return text[: ends[-1]] if ends else text


def ends_a_sentence(text: str) -> bool:
    """Return whether the text ends with the end of a sentence."""
    ends = [found.end() for found in SENTENCE_END.finditer(text.rstrip())]
    return bool(ends) and ends[-1] == len(text.rstrip())
