"""Who speaks in the Congressional Record: the labels that open a turn, and the names of `mods.xml` behind them.

Surnames are set in capitals, which no running text does: "  Mr. KOHL. Mr. President, ...". A label may stand alone on
its line. Managers and counsel of an impeachment trial and guests who address a joint meeting speak like members.

No list of spellings is ever whole. So beside the labels that are known there is the shape that every label has: a
title, an office, a crowd or a name in capitals, and a mark. What has the shape and is not known is named in the counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fedtext.largefedbench.cleaning.rules import CAPITALS
from fedtext.largefedbench.turns import CHAIR_TURN, COLLECTIVE, NOT_SPOKEN, SPEECH, joined

_PERSONAL = r"(?:Mr|MR|Mrs|MRS|Ms|MS|Mx|Miss|MISS|Dr|DR)\.?(?: (?:Manager|Counsel|Leader|President))?"
_STYLE = r"(?:(?:His|Her|Their) (?:(?:Royal|Imperial) )?(?:Majesty|Highness|Excellency|Holiness),? )"
_RANK = r"(?:Lt|Col|Gen|Maj|Brig|Capt|Sgt|Cpl|Adm|Cmdr|Cdr|Rev|Prof|Gov|Amb|Sen|Rep|Hon)\."
_OFFICES = (
    rf"{_STYLE}?(?:Chairman|Chairwoman|Leader|Manager|Counsel|Senator|Congressman|Congresswoman|Delegate|Representative"
    r"|Resident Commissioner|(?:Vice )?President|Prime Minister|Premier|Taoiseach|Chancellor|King|Queen|Prince"
    r"|Princess|Pope|Governor|Ambassador|Secretary(?:[ -]General)?|General|Admiral|Colonel|Captain|Major|Sultan"
    rf"|Emperor|Minister|Justice|Judge)(?:-(?:[Ee]lect|[Dd]esignate))?|{_RANK}(?: {_RANK}){{0,2}}"
)
_CAPITAL = f"[{CAPITALS}]"
_APOSTROPHES = "'’‘`´ʻʼ"
# A small letter with an accent may stand among capitals.
_REST = rf"(?:{_CAPITAL}|[{_APOSTROPHES}-]|[à-ÿ](?={_CAPITAL}|\b)){{0,20}}"
_NAME = (
    r"(?:(?:[Dd](?:e|a|i|u|el|er|os|en)|[Ll][ae]|[Vv][ao]n|[Tt]e[rn]|[Ee]l) ){0,3}"
    rf"(?:[a-zA-ZÀ-ÿ{_APOSTROPHES}-]{{0,20}}?{_CAPITAL}{{2}}{_REST}"
    rf"|{_CAPITAL}{{2,20}}|ST\.|(?:{_CAPITAL}\.){{1,3}})(?:,? (?:Jr|JR|Sr|SR)(?:\.(?=,? of\b))?)?"
)
_STATE = r"(?:,? of\s*(?:the )?[A-Z][a-z]+(?: [A-Z][a-z]+){0,3})?"
_ASIDE = r"(?:\s*[(\[][^()\[\]]*[)\]]){0,2}"  # "(during the vote)", "[Mr. Brownback]"
_ADDRESS = r"(?:Mr|Madam|Ms|Mrs)\.? (?:(?:Vice|Acting) )?(?:Speaker|President|Chair|Chief Justice)"
_END = r"(?:\s+|$)"
# The full stop that ends a label, or the mark set for it by mistake before an address to the chair.
_STOP = rf"(?:\s*\.{_END}|[,:;]? (?={_ADDRESS}))"


def _label(pattern: str) -> re.Pattern[str]:
    """Compile a label; the record sometimes sets two spaces between its words."""
    return re.compile(pattern.replace(" ", r"\s+"))


# Officers that the record names by office, in whatever case; a hyphen or a comma may stand where a space does.
_OFFICERS = (
    "Speaker", "Presiding Officer", "Vice President", "Chief Justice", "Chairman", "Chairwoman", "Chairperson", "Chair",
    "Vice Chairman", "Vice Chair", "Chaplain", "Guest Chaplain", "Senate Chaplain", "Parliamentarian",
    "Sergeant at Arms", "Doorkeeper", "Presiding Member", "President pro tempore", "Clerk", "Legislative Clerk",
    "Bill Clerk", "Journal Clerk", "Tally Clerk", "Enrolling Clerk", "Executive Clerk", "Reading Clerk",
    "Secretary of the Senate",
)  # fmt: skip
_RANKS = ("Acting", "Deputy", "Assistant", "Reading", "Temporary", "Senior", "Chief", "Former", "Guest")
_GAP = "(?:,? |-)"


def _of(words: Iterable[str]) -> str:
    return "|".join(one.replace(" ", _GAP) for one in words)


_PRO_TEMPORE = rf"(?:{_GAP}pro{_GAP}?tem(?:p(?:o(?:re)?)?)?)?"
_IN_THE_CHAIR = rf"(?i:(?:(?:{_of(_RANKS)}){_GAP}){{0,3}}(?:{_of(_OFFICERS)}){_PRO_TEMPORE})"
_CHAIRED = (
    rf"(?:ACTING |VICE )?(?:SPEAKER|PRESIDENT|CHAIRMAN|CHAIR|PRESIDING OFFICER|CLERK|CHIEF JUSTICE){_PRO_TEMPORE}"
)
CHAIR = _label(
    # "The President." in title case opens a sentence more often than a turn.
    rf"(?P<name>T(?:he|HE) (?:{_IN_THE_CHAIR}"
    rf"|(?i:(?:(?:{_of(_RANKS)}){_GAP}){{0,3}})(?:PRESIDENT|SECRETARY){_PRO_TEMPORE})"
    rf"|(?i:(?:speaker|president){_GAP}pro{_GAP}tempore|presiding officer)|SPEAKER|CHAIRMAN"
    # "Mr. SPEAKER." is printed for "The SPEAKER."; "Mr. Speaker," is an address.
    rf"|(?:Mr|MR|Madam|MADAM|Ms|Mrs)\.? (?:{_CHAIRED}|(?i:speaker{_GAP}pro{_GAP}tempore))"
    rf"|T(?:he|HE) (?!PRESIDENT ){_CHAIRED} of (?:the )?[A-Z][\w ]{{2,60}}?"
    rf"|(?i:Chaplain) {_NAME}(?: {_NAME}){{0,4}})"
    rf"{_ASIDE}\s*[.:]{_END}"
)
# In capitals no running text has an officer: the mark may be another, or be missing. An officer whom nobody knows is
# none of the members either, and is named in the counts.
_OFFICER = rf"{_CAPITAL}{{2,}}l?{_CAPITAL}{{2,}}"
OFFICER = _label(
    rf"(?P<name>T(?:he|HE) (?:(?:{_of(_RANKS)}|{_of(_RANKS).upper()}) ){{0,2}}"
    rf"(?:(?:SPEAKER|PRESIDING OFFICER|CHAIR(?:MAN|WOMAN)?|CLERK|CHIEF JUSTICE|VICE PRESIDENT)\b(?!['’])"
    rf"(?: pro \w{{4,8}}\b)?|PRESIDENT pro \w{{4,8}}\b)"
    rf"(?: [(\[](?:[^()\[\]]|[(\[][^()\[\]]*[)\]]){{0,80}}[)\]])?)[\s.,:;—-]*"
)
UNKNOWN_OFFICER = _label(
    rf"(?P<name>T(?:he|HE) {_OFFICER}(?: (?:{_OFFICER}|of|OF|the|THE)){{0,4}}){_ASIDE}\s*[.:]{_END}"
)
MEMBER = _label(
    rf"(?P<bullet>[•●]\s*)?(?P<name>(?:{_PERSONAL}|{_OFFICES}) {_NAME}(?: {_NAME}){{0,4}}{_STATE}){_ASIDE}{_STOP}"
)
# The President of the United States, before a joint session; nobody is called so while Congress sits alone.
GUEST = _label(rf"(?P<name>The (?:PRESIDENT(?! pro)|QUEEN|KING|POPE|PRIME MINISTER)){_ASIDE}\.{_END}")
_CROWDS = r"(?:members?|senators?|voices?|delegates?|representatives?)(?: of the (?:house|senate))?"
_SOMEWHERE = (
    r"(?: (?:on|from|in|of) (?:(?:both|all|the|either|this|that|other) )*"
    r"(?:sides?|gallery|galleries|floor|aisle|chamber|well|back|left|right))?"
)
CROWD = _label(
    rf"(?P<name>(?=[A-Z])(?i:(?:several|some|many|a|an|one|a number of) (?:hon(?:\.|orable)? )?{_CROWDS}{_SOMEWHERE}"
    r"|voices))"
    rf"{_ASIDE}[.:]{_END}"
)
# The shape of a label. What may stand before the name; the words of a name, however they are set; the mark.
_BEFORE = r"(?P<bullet>[•●]\s*)?[\s\[(“\"'‘]{0,3}"
_ANY_NAME = rf"(?:{_CAPITAL}[\w'’-]{{0,30}}\.??|of|the|from|for|and|de|la|du|van|von|der|pro|tempore|at|to|in)"
_TITLED = (
    rf"(?:(?:Mr|Mrs|Ms|Mx|Miss|Dr|Messrs|Mesdames|MR|MRS|MS|DR)[.,]?\s?"
    rf"|(?:{_OFFICES}|Madam|Sir|Dame|Lord|Lady|Rev\.|Reverend|Father|Rabbi"
    rf"|Pastor|Bishop|Imam|Chaplain|Prof\.|Professor|Rep\.|Sen\.|Hon\.|Honorable) |{_STYLE})"
)
_NO_ABBREVIATION = r"(?<!\b[A-Z])(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bDr)(?<!\bSt)(?<!\bRev)(?<!\bHon)(?<!\bGen)"
# "The Senator from Iowa (Mr. Oak)." names whom the chair appoints; without brackets it may open a turn.
_APPOINTED = r"(?!The (?:Senator|Delegate|gentle\w+) from [^.:()]{2,60} \()"
LIKE_A_LABEL = _label(
    rf"{_BEFORE}{_APPOINTED}(?P<name>{_TITLED}{_ANY_NAME}(?:,? {_ANY_NAME}){{0,7}}?"
    rf"|T(?:he|HE) (?:{_CAPITAL}[\w'’-]{{1,30}}|{_IN_THE_CHAIR})(?:,? {_ANY_NAME}){{0,6}}?"
    rf"|(?=[A-Z]){_IN_THE_CHAIR}(?: {_ANY_NAME}){{0,3}}?"
    rf"|(?=[A-Z])(?i:(?:(?:a|an|one|some|several|the) )?(?:hon(?:\.|orable)? )?{_CROWDS})"
    r"|T(?:he|HE) (?:[Gg]entle\w{3,6}|GENTLE\w{3,6}|Senator|Delegate) from (?:the )?[A-Z]\w+(?: [A-Z]\w+){0,2}?"
    rf"|{_CAPITAL}[{_CAPITAL[1:-1]}'’-]{{3,20}}(?: {_CAPITAL}[{_CAPITAL[1:-1]}'’-]{{1,20}}){{0,2}}?)"
    rf"{_NO_ABBREVIATION}[\])]?{_ASIDE}(?:[.:]{_END}|--(?=[A-Z])|—(?=[A-Z]))"
)
ADDRESSED = _label(rf"(?:{_ADDRESS}|(?:Mr|Madam|Ms|Mrs)\.? (?:Chairman|Chairwoman|Leader|Secretary))\b")


LONGEST_LABEL = 160  # characters: a line that only begins like one is soon seen not to be


class Label(NamedTuple):
    """A speaker's label at the start of a paragraph: the name as printed, the kind of turn it opens, where it ends."""

    name: str
    kind: str
    end: int
    known: bool = True


class Person(NamedTuple):
    """A member's full name and Biographical Directory id; the id is empty for a guest."""

    name: str
    id: str


_KINDS = (
    (GUEST, SPEECH),
    (CHAIR, CHAIR_TURN),
    (MEMBER, SPEECH),
    (CROWD, COLLECTIVE),
    (OFFICER, CHAIR_TURN),
)


def label(text: str, names: MemberNames | None = None) -> Label | None:
    """Return the speaker's label that `text` opens with, or None.

    What only looks like a label is one if `names`, the members of `mods.xml`, has it, or if an address to the chair
    follows.
    """
    for pattern, kind in _KINDS:
        match = pattern.match(text, 0, LONGEST_LABEL)
        if match:
            handed_in = pattern is MEMBER and match["bullet"]
            return Label(joined(match["name"]), NOT_SPOKEN if handed_in else kind, match.end())
    match = _like_a_label(text)
    if match and ((names and names.has(match["name"])) or _spoken_to_the_chair(match, text)):
        return Label(joined(match["name"]), NOT_SPOKEN if match["bullet"] else SPEECH, match.end())
    match = UNKNOWN_OFFICER.match(text, 0, LONGEST_LABEL)
    return Label(joined(match["name"]), CHAIR_TURN, match.end(), known=False) if match else None


def unknown_label(text: str) -> str:
    """Return what `text` opens with, if it looks like a speaker's label; empty if it does not."""
    match = _like_a_label(text)
    return joined(match["name"]) if match else ""


def _like_a_label(text: str) -> re.Match[str] | None:
    match = LIKE_A_LABEL.match(text, 0, LONGEST_LABEL)
    return None if match is None or ADDRESSED.match(text) else match


def _spoken_to_the_chair(match: re.Match[str], text: str) -> bool:
    """Return whether a title and a name are followed by the address that opens a speech."""
    titled = re.match(rf"(?:[•●]\s*)?(?:{_PERSONAL}|{_OFFICES})\s", text)
    return bool(titled) and bool(ADDRESSED.match(text, match.end()))


class MemberNames:
    """The members that `mods.xml` names, by printed name: those who speak in a granule first, then the day's."""

    def __init__(self, granule: Mapping[str, Person], day: Mapping[str, Person]) -> None:
        self._lists = (granule, day)

    def has(self, printed: str) -> bool:
        """Return whether the printed name is one of theirs."""
        return any(_key(printed) in names for names in self._lists)

    def find(self, printed: str) -> Person:
        """Return the person of a printed name; a name that is not listed is kept as printed, without an id.

        One letter may tell two members apart (Reed and Reid, Mr. and Ms. Harper), so no name is read as a near one.
        """
        key = _key(printed)
        return next((names[key] for names in self._lists if key in names), Person(printed, ""))


def members_by_name(names: Iterable[tuple[str, Person]]) -> dict[str, Person]:
    """Map printed names to persons; a name that two persons share maps to none."""
    roll: dict[str, Person | None] = {}
    for printed, person in names:
        key = _key(printed)
        roll[key] = person if roll.get(key, person) == person else None
    return {key: person for key, person in roll.items() if person is not None}


def _key(printed: str) -> str:
    """Return the name by which members are told apart: case, spaces and the form of apostrophes do not."""
    name = re.sub(rf"[{_APOSTROPHES}]", "'", re.sub(r"(?i)\b(manager|counsel) ", "", printed))
    return joined(re.sub(r",?\sof\s*(?=(?:the\s)?[A-Z])", " of ", name)).lower()
