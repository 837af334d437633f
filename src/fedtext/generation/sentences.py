"""Sentence boundaries, in any script.

A model that is trained on answers learns their ends too: trained on answers that a token limit cut off, it learns to
stop in the middle of a sentence.
"""

from __future__ import annotations

import re

EMOJI = "[\u2600-\u2604\u2607-\u27bf\U0001f000-\U0001faff][\ufe0f\u200d]*"  # no star of a rating, no degree
CLOSING = rf"(?:[ \u00a0\u202f]?»|[\"'”’“‘«›‹)\]*_`」』）]| ?{EMOJI})*"  # French puts a space inside quotation marks
MARKS = "!?…؟۔।॥։።፧។～\u037e"  # a space or the text's end follows them
WIDE_MARKS = "。！？｡။།༎"  # of scripts without spaces: nothing need follow
GREEK_QUESTION = r"(?<=[\u0370-\u03ff\u1f00-\u1fff]);"
UNMARKED = r"(?<=[\u0e00-\u0eff])"  # Thai and Lao end a sentence by a space alone
ABBREVIATIONS = (  # a full stop ends no sentence behind them, nor behind a single capital
    *("Mr", "Mrs", "Ms", "Dr", "St", "vs", r"e\.g", r"i\.e", "(?<!°)[A-Z]"),
    *("Nr", "Str", "Tel", "bzw", "ca", "z", "Sr", "Sra", "Dra", "núm", "tél"),
)
SHORT = "".join(rf"(?<!\b{one})" for one in ABBREVIATIONS)
NUMBER = r"(?:(?<!\bNo)|(?<=[.!?] No))"  # "No. 7", but not the answer "No."
MONTHS = "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
DATE = rf"(?!(?<=\d\.) (?:{MONTHS})\b)"  # "am 3. Mai"
ENDINGS = (
    rf"(?<!^\d)(?<!^\d\d){SHORT}{NUMBER}\.{DATE}{CLOSING}(?=\s|$)",  # "2." begins an item of a list
    rf"(?:[{MARKS}]|{GREEK_QUESTION}){CLOSING}(?=\s|$)",
    rf"[{WIDE_MARKS}]{CLOSING}",
    rf"{UNMARKED}{CLOSING}(?=\s|$)",
    rf"(?:(?<=\w [A-Z])|(?<=\.[A-Z]))\.{CLOSING}\Z",  # "of vitamin C.", "in the U.S.": behind a text's last words
    rf"{EMOJI}\Z",
)
SENTENCE_END = re.compile("|".join(ENDINGS), re.MULTILINE)
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
