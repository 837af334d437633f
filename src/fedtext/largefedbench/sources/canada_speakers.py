"""Who speaks in a Canadian intervention: inner labels, the chair, collective voices, the clerk's motions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from fedtext.largefedbench.turns import CHAIR_TURN, COLLECTIVE, SPEECH, SPOKEN, Paragraph, joined

CHAIR = re.compile(
    r"The (?:Assistant |Acting |Deputy )*(?:Speaker|Chair|Chairman|Chairperson|Presiding Officer|Clerk)\b"
    r"|The Clerk of the House|L[ea] (?:vice-|V)?[Pp]résidente?\b|L[ea] [Gg]reffi[eè]re?\b"
)
CROWD = re.compile(
    r"(?:Some|An|A|Several) hon\.? (?:members?|senators?)|(?:Some|Several) members|Hon\.? members|Members"
    r"|Des (?:voix|députés|sénateurs)|Une voix|Un(?:e)? députée?",
    re.I,
)
SAID = re.compile(r"\s*(?:He|She|They|The (?:hon\. )?(?:member|minister)) said:\s*")


class Segment(NamedTuple):
    """A run of text after a bold label (None: no label yet in this paragraph)."""

    label: str | None
    text: str


def segments(paragraph: Any) -> Iterator[Segment]:
    """The paragraph's text, cut where a bold label names another speaker."""
    label: str | None = None
    parts: list[str] = [paragraph.text or ""]
    for child in paragraph:
        tail = child.tail or ""
        bold = joined(*child.itertext()) if child.tag == "B" else ""
        if bold.endswith(":") or (bold and tail.lstrip().startswith(":")):
            if label is not None or joined(*parts):
                yield Segment(label, joined("".join(parts)))
            label, parts = bold.rstrip(": "), [tail.lstrip().removeprefix(":")]
        else:
            parts += ["".join(child.itertext()), tail]
    yield Segment(label, joined("".join(parts)))


def bare_name(name: str) -> str:
    """The speaker without the riding, party or office in brackets, however they are nested."""
    inner = None
    while inner != name:
        inner, name = name, re.sub(r"\s*\([^()]*\)", "", name)
    return joined(name.partition(" (")[0]).rstrip(" :")


def turn_kind(speaker: str) -> str:
    """`chair`, `collective` ("Some hon. members") or `speech`."""
    if CHAIR.match(speaker):
        return CHAIR_TURN
    return COLLECTIVE if CROWD.fullmatch(speaker) else SPEECH


def mark_motion(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """Mark the clerk's wording of a motion: a turn that opens with "moved", up to "She said:" or the first vocative."""
    opening = next((p.text for p in paragraphs if p.kind == SPOKEN), "")
    if not opening.startswith("moved"):
        return paragraphs
    marked: list[Paragraph] = []
    for index, (text, kind) in enumerate(paragraphs):
        said = SAID.match(text) if kind == SPOKEN else None
        if said:
            words = Paragraph(said.group().strip(), "motion_text")
            return [*marked, words, Paragraph(text[said.end() :]), *paragraphs[index + 1 :]]
        if kind == SPOKEN and text.startswith(("Mr. Speaker", "Madam Speaker")):
            return [*marked, *paragraphs[index:]]
        marked.append(Paragraph(text, "motion_text" if kind == SPOKEN else kind))
    return marked
