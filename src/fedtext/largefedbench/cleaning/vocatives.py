"""Taking the address to the chair ("Mr. Speaker,") out of a speech, wherever it stands and only where it is one.

"I thank the Speaker", "Mr. Speaker has ruled" and "to Mr. Speaker, who" are mentions and stay.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fedtext.largefedbench.cleaning.languages import SPEAKER as INUKTITUT_SPEAKER
from fedtext.largefedbench.cleaning.rules import matches_at

_OFFICE = r"(?:Speaker|President|Chairman|Chairwoman|Chairperson|Chair|Chief\sJustice)(?:\spro\stempore)?"
_CHAIR = rf"(?:Mr\.?|Madame?|Mrs\.?|Ms\.?|Mister)\s(?:(?:Acting|Assistant|Deputy|Vice)[\s-])*{_OFFICE}"
_HEARERS = r"(?:\sand\s(?:my\s|fellow\s|distinguished\s)*(?:colleagues|[Mm]embers|Senators|friends)(?=\s?[,.:]))?"
_TITLE = rf"(?:{_CHAIR}{_HEARERS}|[Mm]y\s(?:noble\s)?Lords|{INUKTITUT_SPEAKER})"
# A pattern that begins with a set of letters is looked for several times as fast as one that begins with a choice.
_STARTS = re.compile(r"[MmUu](?:(?<=[Mm])(?:rs?\b|s\b|adam|ister|y\s(?:noble\s)?Lords)|(?<=[Uu])qaq)")
_MENTIONS = re.compile(r"[SPCLUu](?:peaker|resident|hair|ords|hief|qaq)")  # of these, and a few words that are none
_ADDRESS = re.compile(
    rf"(?<!\w)(?P<title>(?:{_TITLE},\s)*{_TITLE})(?!\w)(?P<mark>\s?(?:\.\.\.|--|[,;:.!?—–])|)(?P<after>\s*)"
)
_SENTENCE_END = (".", "!", "?", "…", "”", '"', "“", "‘", ":", "\n")
_CLAUSE_END = ("(", "[", "—", "–", ";", "-")
_CAPITAL_NEXT = "\x01"  # stands where a sentence lost its opening until the text is put together again
_MARKS = tuple(",;:.!?—–-")
_CLOSERS = ("", "\n", "”", '"', ")", "]")
# After these, a title followed by a comma is what the sentence is about, not whom it addresses.
_GOVERNING = re.compile(
    r"\b(?:an?|the|to|from|by|of|with|for|as|our|your|his|her|their|both|is|was|were|called|between|thank(?:ed)?"
    r"|ask(?:ed)?|tell|told)$",
    re.I,
)
_THANKED = re.compile(r"\b(?:you|no|yes|sir)$", re.I)


class Stripped(NamedTuple):
    """The text without its vocatives, and each vocative as it stood."""

    text: str
    vocatives: list[str]


def strip_vocatives(text: str) -> Stripped:
    """`text` (paragraphs on lines) without the addresses to the chair; a sentence they opened gets its capital back."""
    if not _MENTIONS.search(text):
        return Stripped(text, [])
    pieces: list[str] = []
    vocatives: list[str] = []
    end, before = 0, ""
    for match in matches_at(_STARTS, _ADDRESS, text):
        between = text[end : match.start()]
        lead = between.rstrip()
        gap = between[len(lead) :]
        before = (lead or before) + ("\n" if "\n" in gap else "")
        end = match.end()
        instead = _instead(match, before, text[end : end + 3])
        if instead is None:
            pieces += [between, match.group()]
            before = match.group().rstrip(" ")
            continue
        vocatives.append(match["title"])
        comma = lead.endswith(",") and "\n" not in gap
        if comma:
            lead, gap = lead[:-1], " "
        closes_up = instead.startswith(_MARKS) and "\n" not in gap
        pieces += [lead if closes_up else lead + gap, instead]
        before = before[:-1] if comma else before
        before += instead.strip(" ")
        if not comma and (not before or before.endswith(_SENTENCE_END)):
            pieces.append(_CAPITAL_NEXT)
    pieces.append(text[end:])
    if not vocatives:
        return Stripped(text, [])
    return Stripped(re.sub(f"{_CAPITAL_NEXT}+(\\w?)", lambda m: m[1].upper(), "".join(pieces)), vocatives)


def _instead(match: re.Match[str], before: str, following: str) -> str | None:
    """What stands in place of the vocative (and of a comma before it), or None if it is a mention."""
    mark, after = match["mark"].strip(), match["after"]
    closes = "\n" in after or (not after and following[:1] in _CLOSERS)
    if not before or before.endswith(_SENTENCE_END + _CLAUSE_END):
        if not mark and not closes and not following.startswith("I "):
            return None  # "Mr. Speaker has ruled"; but "Mr. Speaker I rise" lacks only its comma
        return after.strip(" ")
    if not mark and not closes:
        return None
    if before.endswith(","):
        return mark + after
    if mark == ",":
        return None if _GOVERNING.search(before[-12:]) else after.strip(" ")
    return mark + after if _THANKED.search(before[-12:]) else None
