"""What each paragraph of a UK speech is: said, italic, a motion's or an amendment's wording, a heading, a table.

The source marks every indented paragraph that opens with "That" or a quotation mark as motion text. A quotation that
the speaker reads out is speech; the words of a motion that was moved, and of an amendment as it is printed, are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fedtext.largefedbench.turns import SPOKEN, Paragraph, joined

MOTION = "motion_text"
HEADING = "heading"
_QUOTED = re.compile(r"[“\"‘'…]")
# A paragraph that these end announces a motion or an amendment, not something to be read out.
_MOVES = re.compile(
    r"(?:\b(?:move|moved|insert|leave out|substitute|resolved|ordered|add|say)\b|question (?:put|proposed)|line \d+)"
    r"[,:—–-]*\s*$",
    re.I,
)
# What the Lords print between two speeches: the next amendment's number, its mover and its text.
_NEXT_AMENDMENT = re.compile(r"(?:Amendments? \d+\w*(?:,? (?:to|and) \d+\w*)*|(?:Moved|Tabled) by .*)\.?$")
_CLAUSE_HEADING = re.compile(r"(?:Clause|Schedule|Clauses|Part|Chapter) \d+\w*\s*(?::|[-—–]) .{3,200}(?<![.!?:])$")
_AMENDMENT = re.compile(
    r"(?:(?:Amendment |\()?\d+[A-Z]{0,2}\)?[:,.]? |Amendment \([a-z]\)[^.]{0,40}, )"
    r"(?:(?:After |Before |Insert )?(?:[Cc]lause|[Ss]chedule)|[Pp]age|[Ll]ine|[Ii]n (?:[Cc]lause|Schedule))\b"
    r".*(?:leave out|insert|at end|divide|substitute|transpose)"
)


def paragraphs(speech: Any) -> list[Paragraph]:
    """The speech's paragraphs by kind; text outside any paragraph is kept apart as an unknown element."""
    result: list[Paragraph] = []
    printed = quoting = False
    for text, kind in _elements(speech):
        printed = printed or (kind == "italic" and bool(_NEXT_AMENDMENT.match(text)))
        quoting = kind == MOTION and (_goes_on(text) if quoting else _opens(text, result))
        if quoting:
            kind = SPOKEN
        elif kind == SPOKEN and (printed or _AMENDMENT.match(text)):
            kind = MOTION
        elif kind == SPOKEN and _CLAUSE_HEADING.match(text):
            kind = HEADING
        result.append(Paragraph(text, kind))
    return result


def _opens(text: str, before: list[Paragraph]) -> bool:
    """Whether an indented paragraph opens a quotation that is read out: what stands before it announces no motion."""
    if not before or before[-1].kind != SPOKEN or _MOVES.search(before[-1].text):
        return False
    announced = before[-1].text.endswith(":") and not text.startswith("That ")
    return announced or bool(_QUOTED.match(text))


def _goes_on(text: str) -> bool:
    """Whether an indented paragraph after a quotation is its next one rather than a motion."""
    return not text.startswith("That ")


def _elements(speech: Any) -> Iterator[Paragraph]:
    if joined(speech.text):
        yield Paragraph(joined(speech.text), "unknown_element")
    for child in speech:
        yield Paragraph(joined("".join(child.itertext())), _kind(child))
        if joined(child.tail):
            yield Paragraph(joined(child.tail), "unknown_element")


def _kind(element: Any) -> str:
    if element.tag in {"table", "ul", "ol"}:
        return "table"
    if element.tag != "p":
        return "unknown_element"
    if "italic" in (element.get("class") or "").split() or _all_italic(element):
        return "italic"
    return SPOKEN if element.get("pwmotiontext") is None else MOTION


def _all_italic(element: Any) -> bool:
    """Whether every word stands in `<i>` inside `<b>`: a heading that the source left in a speech."""
    marked = "".join("".join(italic.itertext()) for bold in element.iter("b") for italic in bold.iter("i"))
    return bool(joined(marked)) and joined(marked) == joined(*element.itertext())
