"""Quotations that a member reads aloud: printed like inserted matter, but announced by the member's own colon.

"He went on to observe:" and an indented block is speech. After "ordered to be printed in the Record, as follows:" the
same block is matter inserted in print, and so is the text of a bill or an amendment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fedtext.largefedbench.turns import INSERTED, SPOKEN, Paragraph, n_words

# What announces print rather than speech; the first three are the clerk's own words.
_PRINTED = re.compile(
    r"There being no objection|^The (?:[a-z]+ ){0,4}clerk\b|^The .{0,160}\b(?:is|are|was|were) as follows"
    r"|^Pending:|\b(?:includ|insert|print|submit|plac|enter)\w* [^.]{0,80}\b(?:in|into|for) (?:the|today's) Record\b"
    r"|(?<!quote as )(?<!said as )(?<!wrote as )follows?:$"
    r"|\b(?:amendments?|bills?|resolutions?|cosponsors?|table|chart)\b[^.]{0,40}:$",
    re.I,
)
_NOT_READ = re.compile(
    r"Be it (?:enacted|resolved)|SEC(?:TION|\.) \d|(?:S|H)\.\s?(?:R\.|J\.|Con\.)?\s?(?:Res\.)?\s?\d+$|.*\.{4,}|.*-{5,}"
    r"|.*\d\s{3,}\d|(?:By )?M(?:r|rs|s)\. [A-Z]{2}|\(\w+\) ",
    re.S,
)
_BETWEEN = frozenset({"page_mark", "time_mark", "rule_line"})  # marks that cut through a quotation without ending it
HEADING_WORDS = 8


def read_aloud(paragraphs: Iterable[Paragraph]) -> list[Paragraph]:
    """The paragraphs of one turn, those `inserted` after a member's colon and not printed by order now spoken."""
    result: list[Paragraph] = []
    announced = False
    for paragraph in paragraphs:
        if paragraph.kind == INSERTED and announced:
            announced = not (_NOT_READ.match(paragraph.text) or _is_heading(paragraph.text))
            result.append(Paragraph(paragraph.text, SPOKEN if announced else INSERTED))
            continue
        if paragraph.kind not in _BETWEEN:
            text = paragraph.text.rstrip()
            announced = paragraph.kind == SPOKEN and text.endswith((":", ":''", "--")) and not _PRINTED.search(text)
        result.append(paragraph)
    return result


def _is_heading(text: str) -> bool:
    """A few words that end without a mark: a centred heading of the record."""
    return text[-1:].isalnum() and n_words(text) <= HEADING_WORDS
