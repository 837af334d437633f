"""UK Parliament, TheyWorkForYou's XML, a file a day and revision: `uk/**/<kind><date><letter>.xml[.gz]`.

Only the last revision of a day counts. Speeches with `nospeaker` have no speaker. Open Parliament Licence v3.0.

The chair at Westminster: the source gives personal names, not offices. Any of four signs is enough: the name is an
office ("Madam Deputy Speaker"); the person held the Speaker's or a deputy's office that day; a notice on the page
("[Sir Roger Gale in the Chair]") puts the person there until the next notice; or, in the Lords, where deputies are many
and speak for themselves as well, a short turn has words that only the chair uses ("My Lords, the time allowed for this
Question has elapsed.").

Paragraphs of a UK speech are spoken, italic, the wording of a motion or an amendment, a heading, or a table. The source
marks every indented paragraph that opens with "That" or a quotation mark as motion text. A quotation that the speaker
reads out is speech; the words of a motion that was moved, and of an amendment as it is printed, are not.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from fedtext.largefedbench.cleaning.rules import CAPITALS
from fedtext.largefedbench.raw_pages import RawPage, parse_xml, possible_date, reading
from fedtext.largefedbench.turns import (
    CHAIR_TURN,
    SPEECH,
    SPOKEN,
    UNKNOWN_ELEMENT,
    Paragraph,
    Turn,
    UniqueIds,
    Unknown,
    joined,
)
from fedtext.system.errors import InputError

OFFICE = re.compile(
    rf"(?:Mr|Madam|Mrs|Ms|The|Several|Hon)\.? ?(?:[{CAPITALS}][\w]* ){{0,3}}"
    r"(?:Speaker|Chair(?:man|woman|person)?|Chairs?)\b.*"
    r"|(?:(?:Several|Some|Many|Other|An?|All) )?(?:(?:Opposition|Government|Labour|Conservative) )?(?:Hon\.? and )?"
    r"(?:Right )?(?:Hon(?:ourable)?\.? )?(?:Members?|MPs|Friends|Voices)(?:(?: (?:on|from|of|opposite)\b|: ).*)?"
    r"|(?:The )?(?:(?:First |Second |Principal |Temporary )?(?:Deputy )?Chairman"
    r"(?: of (?:Ways and Means|Committees)\b.*| \(.*)?"
    r"|Lord (?:Speaker|Chancellor in the Chair|in the Chair)|Lord on the Woolsack|Temporary Chair\w*|(?:\w+ )?Clerk\b.*"
    r"|(?:\w+ ){0,3}Black Rod)"
    r"|(?:Senior )?Deputy (?:Lord )?Speaker\b.*|Chair|Speaker|Chair of the Committee"
    r"|(?:(?:Several|Some|Many|Other|An?) )?(?:Noble )?(?:Lords|Noble (?:Lord|Baroness(?:es)?|Lad(?:y|ies)|Peers?))"
    r"|.+\((?:In the Chair|Chair|(?:The )?(?:Lord|(?:Senior )?Deputy) Speaker|Deputy Chairman\b[^()]*)\)",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"(?:Mr|Madam|The)\.? (?:Deputy )?Speaker\b.*")  # none sits while a committee's chair does
LORDS_FORMULA = re.compile(
    r"\b(?:the )?time (?:allowed|allotted) for (?:this|the) [\w ]{0,30}(?:has|is) (?:now )?(?:elapsed|up|over)"
    r"|\bsupplementary questions have (?:now )?been asked"
    r"|\bWe (?:now )?come (?:now )?to (?:the (?:group|first group|20 minutes)|Amendments?\b)"
    r"|\brequests? (?:so far,? )?to speak after the Minister"
    r"|\bI (?:\w+ )?call the (?:noble|Minister|right reverend)"
    r"|\bThe Question is (?:that|whether)|\bAs many as are of that opinion"
    r"|\bif (?:this )?[Aa]mendment \w+ is agreed to,? I (?:cannot|will not|shall not) (?:be able to )?call"
)
LORDS_FORMULA_WORDS = 150  # the most a chair's announcement runs to
_TAKES = (
    r"(?i:\(?(?:(?:was|is|being|continued|remained) )?in the chair\)?|(?:takes|took|taking|resumes|resumed) the chair"
    r"|presiding\b|presided\b)"
)
# Who is named before the words, or after them; "The Deputy Speaker resumed the Chair" names nobody else's name.
NOTICE = re.compile(
    rf"(?:[\[(;]|^[^\[\]()]{{0,60}}?; )\s*(?P<name>[^\[\]();]{{3,60}}?),? {_TAKES}"
    r"[^\[\]();]{0,80}(?:[\])]|(?=[—;.]|$))"
    rf"|[\[(]\s*(?i:(?:in the )?chair:)\s*(?P<after>[^\[\]();]{{3,60}}?)\s*[\])]"
    rf"|^(?P<alone>(?:[{CAPITALS}][\w.’'-]* ){{1,6}}){_TAKES}[^\[\]();]{{0,40}}$"
)
# The person whom a notice put there has left the chair: the House or another officer sits again, or a debate ends.
CHAIR_LEFT = re.compile(
    r"\b(?:left|vacated) the Chair\b|\bSpeaker (?:took|takes) the Chair\b|\bChair (?:was|is) (?:vacated|left)\b"
    r"|\b(?:House|Their Lordships|Lords) resumed\b"
    r"|\bCommittee (?:rose|adjourned)\b|\bBill(?: \([^()]*\))?,? (?:accordingly )?(?:reported|as amended)\b"
    r"|\b(?:House|Sitting) adjourned\b|\bto (?:report progress|sit again)\b|\b[Pp]rogress reported\b"
    r"|\bread (?:a|the) [Tt]hird time\b|^Third Reading$"
)
_TITLES = re.compile(
    r"^(?:(?:Mr|Mrs|Ms|Miss|Mx|Dr|Sir|Dame|The|Rt|Right|Hon|Honourable|Rev|Reverend|Professor|Colonel|Major|Captain)"
    r"\.? )+"
    r"|,? MP$",
    re.IGNORECASE,
)

# Name without title, first day, last day as Speaker or deputy of either House. To be checked against the House's own
# list, and continued there, by whoever first builds from live pages.
HOLDERS = (
    ("Betty Boothroyd", "1992-04-27", "2000-10-22"),
    ("Michael Martin", "1997-05-14", "2009-06-21"),
    ("Alan Haselhurst", "1997-05-14", "2010-04-12"),
    ("Michael Lord", "1997-05-14", "2010-04-12"),
    ("Sylvia Heal", "2000-10-23", "2010-04-12"),
    ("Nigel Evans", "2010-06-08", "2013-09-10"),
    ("Dawn Primarolo", "2010-06-08", "2015-03-30"),
    ("Natascha Engel", "2015-06-03", "2017-05-03"),
    ("Baroness Hayman", "2006-07-04", "2011-08-31"),
    ("Baroness D’Souza", "2011-09-01", "2016-08-31"),
    ("Lord Fowler", "2016-09-01", "2021-04-30"),
    ("Lord McFall of Alcluith", "2016-09-01", "2026-01-31"),
    ("Lord Gardiner of Kimble", "2021-05-11", "9999-12-31"),
    ("Lindsay Hoyle", "2010-06-08", "9999-12-31"),
    ("John Bercow", "2009-06-22", "2019-10-31"),
    ("Eleanor Laing", "2013-10-16", "2024-05-30"),
    ("Nigel Evans", "2020-01-08", "2024-05-30"),
    ("Rosie Winterton", "2017-06-28", "2024-05-30"),
    ("Roger Gale", "2022-12-19", "2024-05-30"),
    ("Nusrat Ghani", "2024-07-23", "9999-12-31"),
    ("Judith Cummins", "2024-07-23", "9999-12-31"),
    ("Caroline Nokes", "2024-07-23", "9999-12-31"),
)


# What a Committee of the whole House goes through under one chair.
_IN_COMMITTEE = re.compile(
    r"(?:New )?(?:Clauses?|Schedules?|Amendments?|Title|Preamble|Parts?|Chapters?)\b", re.IGNORECASE
)

_OF_THE_HOUSE = re.compile(r"(?:Third Reading|Consideration|Report Stage)\b", re.IGNORECASE)  # after the committee


class Chairs:
    """The occupants of the chair on one day, updated by the page's own notices."""

    def __init__(self, date: str, *, chamber: str) -> None:
        self._lords = chamber == LORDS
        self._commons = chamber == CHAMBERS["debates"]
        self._officers = {bare(name) for name, first, last in HOLDERS if first <= date <= last}
        self._noticed = ""

    def notice(self, text: str) -> None:
        """Update the chair by what `text`, which nobody speaks, says of it: somebody is in it, or has left it."""
        for match in re.finditer(rf"{NOTICE.pattern}|(?P<left>{CHAIR_LEFT.pattern})", text):
            name = match["name"] or match["after"] or match["alone"]
            self._noticed = "" if match["left"] else bare(name)

    def new_debate(self, title: str) -> None:
        """Note a heading: a Committee of the whole House ends with its clauses, a sitting elsewhere goes on."""
        if self._commons and not _IN_COMMITTEE.match(title):
            self._noticed = ""

    def has(self, speaker: str, text: str = "") -> bool:
        """Return whether `speaker` says `text` from the chair.

        The text matters in the Lords, where deputies speak for themselves too.
        """
        name = bare(speaker)
        presides = name in self._officers or bool(_SPEAKER.fullmatch(speaker))
        if self._noticed and self._commons and presides and self._noticed not in bare(speaker):
            self._noticed = ""  # the Speaker or a deputy speaks: the committee's chair has left
        return (
            bool(OFFICE.fullmatch(speaker))
            or name in self._officers
            or name == self._noticed
            or (self._lords and len(text.split()) <= LORDS_FORMULA_WORDS and bool(LORDS_FORMULA.search(text)))
        )


def bare(name: str) -> str:
    """Return the name without its titles, in one case."""
    return _TITLES.sub("", name.strip()).replace("'", "’").casefold()


MOTION = "motion_text"
HEADING = "heading"
_QUOTED = re.compile(r"[“\"‘'…]")
_FIRST_PERSON = re.compile(r"\bI\b(?! ?(?:of|and|to|in|\d))(?!\))")  # not "Part I of"
# Words that a motion has not, but for those it opens with: "we", or a pronoun for what was said before.
_OWN_WORDS = re.compile(r"(?:This|It|These|They|There|He|She)\b|.*?\b(?:[Ww]e|[Oo]ur|[Mm]y|us|me)\b", re.S)
_WORDING = re.compile(r"(?:That |[“\"‘'…(\[]|I beg to move|\d|Resolved\b|Ordered\b|Question\b|Motion\b|Moved\b)")
# A motion or an amendment in print ends with its mover: "... returned to that country.”—(Ann Oak.)"
_SIGNED = re.compile(rf"[—–]\s*\((?:[{CAPITALS}][\w.’'-]*\s?){{2,6}}\.?\)$")
_PROPOSED = re.compile(r"^(?:Amendments?|New [Cc]lauses?|Motions?) (?:proposed|made|moved)\b")
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
    r"^(?:I beg to move,? )?(?:(?:[Aa]mendment |\()?\d+[A-Z]{0,2}\)?[:,.]? |Amendment \([a-z]\)[^.]{0,40}, )"
    r"(?:(?:After |Before |Insert )?(?:[Cc]lause|[Ss]chedule)|[Pp]age|[Ll]ine|[Ii]n (?:[Cc]lause|Schedule|page"
    r"|[Tt]itle))\b"
    r".*(?:leave out|insert|at end|divide|substitute|transpose)"
)


_OUTSIDE = "text outside any paragraph"


def unknown_elements(speech: Any) -> Iterator[Unknown]:
    """Yield the names of what a speech holds beside its paragraphs and tables."""
    if joined(speech.text):
        yield Unknown("element", _OUTSIDE)
    for child in speech:
        if _kind(child) == UNKNOWN_ELEMENT:
            yield Unknown("element", str(child.tag))
        if joined(child.tail):
            yield Unknown("element", _OUTSIDE)


def paragraphs(speech: Any) -> list[Paragraph]:
    """Return the speech's paragraphs by kind; text outside any paragraph is kept apart as an unknown element."""
    result: list[Paragraph] = []
    printed = quoting = False
    for text, kind in _elements(speech):
        printed = printed or (kind == "italic" and bool(_NEXT_AMENDMENT.match(text)))
        quoting = kind == MOTION and (_goes_on(text) if quoting else _opens(text, result))
        if quoting:
            kind = SPOKEN
        elif kind == SPOKEN and (printed or any(one.search(text) for one in (_AMENDMENT, _SIGNED, _PROPOSED))):
            kind = MOTION
        elif kind == SPOKEN and _CLAUSE_HEADING.match(text):
            kind = HEADING
        result.append(Paragraph(text, kind))
    return result


def _opens(text: str, before: list[Paragraph]) -> bool:
    """Return whether an indented paragraph opens a quotation that is read out, as no motion was announced before."""
    if not before or before[-1].kind != SPOKEN or _MOVES.search(before[-1].text):
        return False
    announced = before[-1].text.endswith(":") and not text.startswith("That ")
    return announced or bool(_QUOTED.match(text))


def _goes_on(text: str) -> bool:
    """Return whether an indented paragraph after a quotation continues it, rather than being a motion."""
    return not text.startswith("That ")


def _elements(speech: Any) -> Iterator[Paragraph]:
    if joined(speech.text):
        yield Paragraph(joined(speech.text), UNKNOWN_ELEMENT)
    for child in speech:
        for line_break in child.iter("br"):
            line_break.tail = f" {line_break.tail or ''}"
        yield Paragraph(joined("".join(child.itertext())), _kind(child))
        if joined(child.tail):
            yield Paragraph(joined(child.tail), UNKNOWN_ELEMENT)


def _kind(element: Any) -> str:
    if element.tag in {"table", "ul", "ol"}:
        return "table"
    if element.tag != "p":
        return UNKNOWN_ELEMENT
    if "italic" in (element.get("class") or "").split() or _all_italic(element):
        return "italic"
    if (element.get("pwmotiontext") or "no").lower() in ("no", "false"):
        return SPOKEN
    return SPOKEN if _says_i(joined(*element.itertext())) else MOTION


def _says_i(text: str) -> bool:
    """Return whether a paragraph marked as a motion is the speaker's own words: a motion does not say "I" or "we"."""
    return not _WORDING.match(text) and bool(_FIRST_PERSON.search(text) or _OWN_WORDS.match(text))


def _all_italic(element: Any) -> bool:
    """Return whether every word stands in `<i>` inside `<b>`: a heading that the source left in a speech."""
    marked = "".join("".join(italic.itertext()) for bold in element.iter("b") for italic in bold.iter("i"))
    return bool(joined(marked)) and joined(marked) == joined(*element.itertext())


LICENSE = "open_parliament_3"
PAGE = re.compile(
    r"(?P<kind>debates|westminster|westminhall|daylord|lordspages)(?P<date>\d{4}-\d{2}-\d{2})(?P<letter>[a-z]*)\.(?i:xml)"
)
LORDS = "House of Lords"
CHAMBERS = {"debates": "House of Commons", "daylord": LORDS, "lordspages": LORDS}
# The paper's speeches are those of the Commons; the other chambers are configs of their own.
OTHER_CONFIGS = {r"/(?:daylord|lordspages)[^/]*$": "lords", r"/(?:westminster|westminhall)[^/]*$": "westminster_hall"}
HEADINGS = frozenset({"major-heading", "minor-heading", "oral-heading"})
# What else stands in a day: votes, and marks for ids that moved.
UNSPOKEN = {"division": "division", "gidredirect": "moved_id"}
SPEECH_ID = re.compile(r"uk\.org\.publicwhip/(?P<kind>\w+)/\d{4}-\d{2}-\d{2}[a-z]*\.(?P<number>[\w.]+)")
DATE_IN_ID = re.compile(r"/(?P<date>\d{4}-\d{2}-\d{2})")


def mark_superseded(pages: list[RawPage]) -> list[RawPage]:
    """Return the pages, with every revision of a day but the last marked superseded."""
    last: dict[str, str] = {}
    for page in pages:
        match = PAGE.search(page.name)
        if match:
            day = match["kind"] + match["date"]  # wherever it lies: a later pull may have a folder of its own
            last[day] = max(last.get(day, ""), match["letter"], key=lambda letter: (len(letter), letter))
    return [
        RawPage(page.name, page.path, superseded=bool(m and m["letter"] != last[m["kind"] + m["date"]]))
        for page in pages
        for m in [PAGE.search(page.name)]
    ]


def parse(page: RawPage) -> Iterator[Turn]:
    """Yield every speech and heading of one day, in order.

    All are `superseded_revision` if there is a later revision.
    """
    root = parse_xml(page.name, page.read(), root="publicwhip")
    with reading(page.name):
        match = PAGE.search(page.name)
        if match is None:
            raise InputError("the file is not named <kind><date><letter>.xml", code="uk-file-name")
        date = _own_date(root, match["date"])
        superseded = page.superseded or root.get("latest") == "no"
        day = _Day(date, CHAMBERS.get(match["kind"], "Westminster Hall"), match["kind"])
        for number, element in enumerate(root):
            yield day.turn(element, number, superseded=superseded)
        outside = joined(root.text, *(element.tail for element in root))
        if outside:
            named = (Unknown("element", "text outside any element"),)
            yield Turn(
                f"{date}.uk.outside", "uk", UNKNOWN_ELEMENT, date, (Paragraph(outside, UNKNOWN_ELEMENT),), unknown=named
            )


def _own_date(root: Any, named: str) -> str:
    """Return the date of the file's name, which most of its speeches' ids must confirm."""
    day = datetime.date.fromisoformat(named)
    date = possible_date(day.year, day.month, day.day)
    ids = (DATE_IN_ID.search(element.get("id") or "") for element in root.iterchildren("speech"))
    ((own, _),) = Counter(match["date"] for match in ids if match).most_common(1) or [(date, 0)]
    if own != date:
        raise InputError(f"a day of {own} in a file named {date}", code="uk-day-differs")
    return date


def _notes(parts: tuple[Paragraph, ...]) -> Iterator[str]:
    """Yield what a speech holds of notices: italic paragraphs whole, and "[... in the Chair]" anywhere."""
    for part in parts:
        if part.kind == SPOKEN:
            yield from (match.group() for match in NOTICE.finditer(part.text))
        else:
            yield part.text


class _Day:
    """State from one element of a day to the next: titles, who is in the chair, ids already used."""

    def __init__(self, date: str, chamber: str, kind: str) -> None:
        self.date, self.chamber, self.kind = date, chamber, kind
        self.titles = {"major-heading": "", "minor-heading": ""}
        self.chairs = Chairs(date, chamber=chamber)
        self.ids = UniqueIds()

    def turn(self, element: Any, number: int, *, superseded: bool) -> Turn:
        """Return the turn of one top-level element."""
        if element.tag in HEADINGS:
            self._note_title(element)
        if element.tag == "speech":
            parts = tuple(paragraphs(element))
            text = " ".join(p.text for p in parts)
            self.chairs.notice(text if element.get("nospeaker") == "true" else " ".join(_notes(parts)))
            kind = self._kind(element, text)
            unknown = [*unknown_elements(element)]
        else:
            kind = "heading" if element.tag in HEADINGS else UNSPOKEN.get(element.tag, UNKNOWN_ELEMENT)
            parts = (Paragraph(joined(*element.itertext()), kind),)
            unknown = [Unknown("element", str(element.tag))] if kind == UNKNOWN_ELEMENT else []
        speaker = joined(element.get("speakername"))
        speaker_id = (element.get("person_id") or element.get("speakerid") or "").rpartition("/")[2]
        speaker_id = "" if speaker_id == "unknown" else speaker_id
        if kind == SPEECH and not speaker_id:
            unknown.append(Unknown("label", speaker))
        return Turn(
            self._client_id(element, number), "uk", "superseded_revision" if superseded else kind, self.date,
            parts,
            country="GB", chamber=self.chamber, speaker=speaker,
            speaker_id=speaker_id,
            title=" - ".join(title for title in self.titles.values() if title), url=self._url(element), license=LICENSE,
            floor_language="en", label="GB", unknown=tuple(unknown),
        )  # fmt: skip

    def _note_title(self, element: Any) -> None:
        text = joined(*element.itertext())
        self.chairs.notice(text)  # "[Mr. Joe Benton in the Chair]" may stand in a heading
        title = joined(NOTICE.sub("", text)).strip(" —–-")
        if not title:
            return
        if (element.tag != "minor-heading" or _OF_THE_HOUSE.match(title)) and not NOTICE.search(text):
            self.chairs.new_debate(title)
        if element.tag == "minor-heading":
            self.titles["minor-heading"] = title
        else:
            self.titles = {"major-heading": title, "minor-heading": ""}

    def _kind(self, element: Any, text: str) -> str:
        speaker = joined(element.get("speakername"))
        if element.get("nospeaker") == "true" or not speaker:
            return "no_speaker"
        return CHAIR_TURN if self.chairs.has(speaker, text) else SPEECH

    def _client_id(self, element: Any, number: int) -> str:
        match = SPEECH_ID.fullmatch(element.get("id") or "")
        part = f"{match['kind']}.{match['number']}" if match else f"{self.kind}.without-id.{number}"
        return self.ids.unique(f"{self.date}.uk.{part}")

    def _url(self, element: Any) -> str:
        path = {"debates": "debates", "daylord": "lords", "lordspages": "lords"}.get(self.kind, "whall")
        return f"https://www.theyworkforyou.com/{path}/?id={(element.get('id') or '').rpartition('/')[2]}"
