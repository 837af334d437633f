"""The columns of the Congressional Record's plain text, read line by line.

A spoken paragraph starts with two spaces (with a bullet where it was only handed in) and goes on at column
zero; matter inserted in print is indented five or more; headings are centred blocks between blank lines. Page marks
and time marks cut through any of them.

Quotations that a member reads aloud: printed like inserted matter, but announced by the member's own colon.

"He went on to observe:" and an indented block is speech. After "ordered to be printed in the Record, as follows:" the
same block is matter inserted in print, and so is the text of a bill or an amendment.

Who speaks in the Congressional Record: the labels that open a turn, and the names of `mods.xml` behind them.

Surnames are set in capitals, which no running text does: "  Mr. KOHL. Mr. President, ...". A label may stand alone on
its line. Managers and counsel of an impeachment trial and guests who address a joint meeting speak like members.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fedtext.largefedbench.turns import (
    CHAIR_TURN,
    COLLECTIVE,
    INSERTED,
    NOT_SPOKEN,
    SPEECH,
    SPOKEN,
    Paragraph,
    joined,
    n_words,
)

HEADER = re.compile(
    r"\[Congressional Record Volume|\[(?:House|Senate|Extensions of Remarks|Daily Digest)\]$|\[Pages? [A-Z]"
    r"|From the Congressional Record Online"
)
PAGE_MARK = re.compile(r"\[\[Page [A-Z]*\d+\]\]$")
TIME_MARK = re.compile(r"\{time\}\s*\d+$")
RULE_LINE = re.compile(r"[_=\-*.•●\s]+$")
NOTE = re.compile(r"=+\s*(END )?NOTE\s*=+$")
MARK_STARTS = frozenset("[{F_=-*.•●")  # what any of these lines begins with
BULLETS = ("•", "●")  # at the start or the end of what was handed in
SPEECH_INDENT = 2
INSERTED_INDENT = 5


@dataclass
class _Reader:
    """The paragraph being read and the state after the last line."""

    kind: str = "heading"
    lines: list[str] = field(default_factory=list)
    after_blank: bool = True
    after_page: bool = False
    in_note: bool = False
    last_end_of_note: int = -1  # the line of the page's last END NOTE: a note that never ends is one line

    def goes_on(self) -> bool:
        """Return whether a line at column zero that is no mark goes on with the open paragraph."""
        return not (self.after_blank or self.after_page or self.in_note)

    def close(self) -> Iterator[Paragraph]:
        """Yield the paragraph read so far, if any."""
        if self.lines:
            yield Paragraph(join_lines(self.lines), self.kind)
        self.lines = []


def paragraphs(text: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of one granule in order; a mark inside a paragraph comes before the paragraph."""
    lines = text.expandtabs().splitlines()
    ends = [number for number, line in enumerate(lines) if (note := NOTE.match(line.strip())) and note.group(1)]
    reader = _Reader(last_end_of_note=ends[-1] if ends else -1)
    for number, line in enumerate(lines):
        if reader.goes_on() and line[:1].isalnum():  # most lines: the rest below would come to the same
            reader.lines.append(line.rstrip())
            continue
        stripped = line.strip()
        if not stripped:
            reader.after_blank = True
            continue
        following = lines[number + 1] if number + 1 < len(lines) else ""
        kind = _mark(stripped, reader, number)
        if kind:
            yield Paragraph(stripped, kind)
            reader.after_page = reader.after_page or kind == "page_mark"
            continue
        new_kind = _opens(line, following, reader)
        if new_kind is not None:
            yield from reader.close()
            reader.kind = new_kind
        reader.lines.append(stripped)
        reader.after_blank = reader.after_page = False
    yield from reader.close()


def _mark(stripped: str, reader: _Reader, number: int) -> str | None:
    """Return the kind of a line that is a mark by itself, or None."""
    if stripped[0] not in MARK_STARTS and not reader.in_note:
        return None
    note = NOTE.match(stripped)
    if note:
        reader.in_note = not note.group(1) and number < reader.last_end_of_note
        return "editorial_note"
    if reader.in_note:
        return "editorial_note"
    if PAGE_MARK.match(stripped):
        return "page_mark"
    if TIME_MARK.match(stripped):
        return "time_mark"
    if HEADER.match(stripped):
        return "page_header"
    return "rule_line" if RULE_LINE.match(stripped) else None


def _opens(line: str, following: str, reader: _Reader) -> str | None:
    """Return the kind of the paragraph this line opens, or None if it goes on with the open one."""
    if line.startswith(BULLETS):
        return SPOKEN
    indent = len(line) - len(line.lstrip())
    if not (indent or reader.after_blank or reader.after_page):
        return None
    if indent >= INSERTED_INDENT:
        return _opens_inserted(reader)
    if indent == SPEECH_INDENT and not (reader.after_blank and _is_centred(following)):
        return SPOKEN  # unless the next line is centred under it: then both are a heading
    if reader.after_page and indent == 0:
        # A sentence cut by the page goes on; a heading in capitals after a finished one does not.
        finished = not reader.lines or reader.lines[-1].endswith((".", "?", "!", "''", ":"))
        return "heading" if finished and line.strip().isupper() else None
    if reader.after_blank:
        return "heading"
    if indent and reader.kind == SPOKEN and (following[:1].strip() or label(line.strip())):
        return SPOKEN  # a paragraph indented one, three or four by mistake: the next line is back at column zero
    return None


def _is_centred(line: str) -> bool:
    return len(line) - len(line.lstrip()) > SPEECH_INDENT and not line.isspace()


def _opens_inserted(reader: _Reader) -> str | None:
    if reader.kind == "heading" and reader.lines and not reader.after_blank:
        return None  # the centred second line of a heading
    return None if reader.kind == "inserted" and not reader.after_blank else "inserted"


def join_lines(lines: list[str]) -> str:
    """Return one line of text; a word or number cut at its own hyphen or dash is closed up again."""
    text = lines[0]
    for line in lines[1:]:
        cut = text.endswith("-") and (text.endswith("--") or line[:1].islower() or line[:1].isdigit())
        text += line if cut else f" {line}"
    return text


# What announces print rather than speech; the first three are the clerk's own words.
_PRINTED = re.compile(
    r"There being no objection|^The (?:[a-z]+ ){0,4}clerk\b|^The .{0,160}\b(?:is|are|was|were) as follows"
    r"|^Pending:|\b(?:includ|insert|print|submit|plac|enter)\w* [^.]{0,80}\b(?:in|into|for) (?:the|today's) Record\b"
    r"|(?<!quote as )(?<!said as )(?<!wrote as )follows?:$"
    r"|\b(?:amendments?|bills?|resolutions?|cosponsors?|table|chart)\b[^.]{0,40}:$",
    re.I,
)
_ORDERED = re.compile(r"(?:ordered|directed) to be printed in the Record,? as follows:\s*$", re.I)
_NOT_READ = re.compile(
    r"Be it (?:enacted|resolved)|SEC(?:TION|\.) \d|(?:S|H)\.\s?(?:R\.|J\.|Con\.)?\s?(?:Res\.)?\s?\d+$|.*\.{4,}|.*-{5,}"
    r"|.*\d\s{3,}\d|(?:By )?M(?:r|rs|s)\. [A-Z]{2}|\(\w+\) ",
    re.S,
)
_BETWEEN = frozenset({"page_mark", "time_mark", "rule_line"})  # marks that cut through a quotation without ending it
HEADING_WORDS = 8


def read_aloud(paragraphs: Iterable[Paragraph]) -> list[Paragraph]:
    """Return the paragraphs of one turn, with quotations marked as spoken.

    These are `inserted` paragraphs after a member's colon that were not printed by order.
    """
    result: list[Paragraph] = []
    announced = False
    for paragraph in _printed_at_speech_indent(paragraphs):
        if paragraph.kind == INSERTED and announced:
            announced = not (_NOT_READ.match(paragraph.text) or _is_heading(paragraph.text))
            result.append(Paragraph(paragraph.text, SPOKEN if announced else INSERTED))
            continue
        if paragraph.kind not in _BETWEEN:
            text = paragraph.text.rstrip()
            announced = paragraph.kind == SPOKEN and text.endswith((":", ":''", "--")) and not _PRINTED.search(text)
        result.append(paragraph)
    return result


def _printed_at_speech_indent(paragraphs: Iterable[Paragraph]) -> Iterator[Paragraph]:
    """Yield the paragraphs; print that is set like speech after the clerk's "as follows:" is `inserted`.

    It ends where the member addresses the chair again, or where print begins that is set as such.
    """
    printed = False
    for paragraph in paragraphs:
        if paragraph.kind == INSERTED:
            printed = False
        elif paragraph.kind == SPOKEN:
            printed = printed and not _ADDRESSED.match(paragraph.text)
            if printed:
                yield Paragraph(paragraph.text, INSERTED)
                continue
            printed = bool(_ORDERED.search(paragraph.text))
        yield paragraph


def _is_heading(text: str) -> bool:
    """Return whether a text has a few words and no mark at its end: a centred heading of the record."""
    return text[-1:].isalnum() and n_words(text) <= HEADING_WORDS


_PERSONAL = r"(?:Mr|MR|Mrs|MRS|Ms|MS|Miss|MISS|Dr|DR)\.?(?: (?:Manager|Counsel))?"
_OFFICES = (
    r"(?:Chairman|Chairwoman|Senator|Congressman|Congresswoman|Delegate|Representative|(?:Vice )?President"
    r"|Prime Minister|Premier|Taoiseach|Chancellor|King|Queen|Prince|Princess|(?:His Holiness )?Pope"
    r"|Governor|Ambassador|Secretary(?:[ -]General)?|General|Admiral|Colonel|Captain|Major|Sultan|Emperor|Minister)"
)
_CAPITAL = "[A-ZÀ-Þ]"
_NAME = (
    rf"(?:De |La |Van |de la )*(?:{_CAPITAL}[a-zA-ZÀ-ÿ'’-]*{_CAPITAL}{{2,}}(?:{_CAPITAL}|['’-])*"
    rf"|{_CAPITAL}{{2,}}|ST\.|(?:{_CAPITAL}\.)+)"
)
_STATE = r"(?: of (?:the )?[A-Z][a-z]+(?: [A-Z][a-z]+)*)?"
_ASIDE = r"(?: [(\[][^()\[\]]*[)\]])*"  # "(during the vote)", "[Mr. Brownback]"
_ADDRESS = r"(?:Mr|Madam|Ms|Mrs)\.? (?:(?:Vice|Acting) )?(?:Speaker|President|Chair|Chief Justice)"
_END = r"(?:\s+|$)"
# The full stop that ends a label, or the mark set for it by mistake before an address to the chair.
_STOP = rf"(?:\.{_END}|[,:;]? (?={_ADDRESS}))"


def _label(pattern: str) -> re.Pattern[str]:
    """Compile a label; the record sometimes sets two spaces between its words."""
    return re.compile(pattern.replace(" ", r"\s+"))


MEMBER = _label(
    rf"(?P<bullet>[•●]\s*)?(?P<name>(?:{_PERSONAL}|{_OFFICES}) {_NAME}(?: {_NAME})*{_STATE}){_ASIDE}{_STOP}"
)
# The President of the United States, before a joint session; nobody is called so while Congress sits alone.
GUEST = _label(rf"(?P<name>The (?:PRESIDENT(?! pro)|QUEEN|KING|POPE|PRIME MINISTER)){_ASIDE}\.{_END}")


def _cased(words: str) -> str:
    """Return a pattern of the words with capitals at their beginning, or all in capitals."""
    return " ".join(rf"(?:{word}|{word.upper()})" for word in words.split())


# Officers that the record names by office, in capitals or, by mistake, in title case. "The President." in title case
# opens a sentence more often than a turn, so the last four want capitals.
_OFFICERS = "|".join((
    *map(_cased, (
        "Speaker", "Presiding Officer", "Vice President", "Chief Justice", "Chairman", "Chairwoman", "Chairperson",
        "Temporary Chairman", "Temporary Chairwoman", "Vice Chairman", "Chaplain", "Guest Chaplain", "Parliamentarian",
        "Sergeant at Arms", "Doorkeeper", "Presiding Member", "President pro tempore", "Clerk", "Legislative Clerk",
        "Bill Clerk", "Journal Clerk", "Tally Clerk", "Enrolling Clerk", "Secretary of the Senate", "Chair",
    )),
    "PRESIDENT", "SECRETARY",
    r"(?:(?:senior )?assistant )?(?:legislative|bill|journal|executive|reading|tally|enrolling) clerk",
))  # fmt: skip
_RANKS = "|".join(map(_cased, ("Acting", "Deputy", "Assistant", "Reading", "Temporary", "Senior", "Chief", "Former")))
_PRO_TEMPORE = r"(?: pro tempore| PRO TEMPORE| Pro Tempore| pro tem)?"
CHAIR = _label(
    rf"(?P<name>T(?:he|HE) (?:(?:{_RANKS}) )*(?:{_OFFICERS}){_PRO_TEMPORE}"
    # "Mr. SPEAKER." is printed for "The SPEAKER."; "Mr. Speaker," is an address.
    rf"|(?:Mr|MR|Madam|MADAM|Ms|Mrs)\.? (?:ACTING )?(?:SPEAKER|PRESIDENT|CHAIRMAN|CHAIR){_PRO_TEMPORE})"
    rf"{_ASIDE}[.:]{_END}"
)
CROWD = _label(
    r"(?P<name>(?:(?:S(?:everal|EVERAL)|S(?:ome|OME)|M(?:any|ANY)) )"
    rf"(?:M(?:embers|EMBERS)|S(?:enators|ENATORS)|V(?:oices|OICES)))\.{_END}"
)
# What stands where labels do: someone's title and name in any case, or an office in capital initials, and a mark.
_ANY_NAME = r"(?:[A-ZÀ-Þ][\w'’-]*\.??|of|the|de|la|du|van|von|der|pro|tempore|at)"
LIKE_A_LABEL = _label(
    rf"(?P<bullet>[•●]\s*)?(?P<name>(?:{_PERSONAL}|{_OFFICES}|Madam|Sir) {_ANY_NAME}(?: {_ANY_NAME}){{0,5}}?"
    rf"|T(?:he|HE) [A-Z]\w+(?: (?:[A-Z]\w+|of|the|pro|tempore|at)){{0,4}}?"
    rf"|{_CAPITAL}[{_CAPITAL[1:-1]}'’-]{{3,}}(?: {_CAPITAL}[{_CAPITAL[1:-1]}'’-]+){{0,2}}?){_ASIDE}[.:]{_END}"
)
_ADDRESSED = _label(rf"(?:{_ADDRESS}|(?:Mr|Madam|Ms|Mrs)\.? (?:Chairman|Chairwoman|Leader|Secretary))\b")


class Label(NamedTuple):
    """A speaker's label at the start of a paragraph: the name as printed, the kind of turn it opens, where it ends."""

    name: str
    kind: str
    end: int


class Person(NamedTuple):
    """A member's full name and Biographical Directory id; the id is empty for a guest."""

    name: str
    id: str


def label(text: str, names: MemberNames | None = None) -> Label | None:
    """Return the speaker's label that `text` opens with, or None.

    What only looks like a label is one if `names`, the members of `mods.xml`, has it, or if an address to the chair
    follows.
    """
    for pattern, kind in ((GUEST, SPEECH), (CHAIR, CHAIR_TURN), (MEMBER, SPEECH), (CROWD, COLLECTIVE)):
        match = pattern.match(text)
        if match:
            handed_in = pattern is MEMBER and match["bullet"]
            return Label(joined(match["name"]), NOT_SPOKEN if handed_in else kind, match.end())
    match = _like_a_label(text)
    if match and ((names and names.has(match["name"])) or _spoken_to_the_chair(match, text)):
        return Label(joined(match["name"]), NOT_SPOKEN if match["bullet"] else SPEECH, match.end())
    return None


def unknown_label(text: str) -> str:
    """Return what `text` opens with, if it looks like a speaker's label; empty if it does not."""
    match = _like_a_label(text)
    return joined(match["name"]) if match else ""


def _like_a_label(text: str) -> re.Match[str] | None:
    match = LIKE_A_LABEL.match(text)
    return None if match is None or _ADDRESSED.match(text) else match


def _spoken_to_the_chair(match: re.Match[str], text: str) -> bool:
    """Return whether a title and a name are followed by the address that opens a speech."""
    titled = re.match(rf"(?:[•●]\s*)?(?:{_PERSONAL}|{_OFFICES})\s", text)
    return bool(titled) and bool(_ADDRESSED.match(text, match.end()))


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
    return joined(re.sub(r"(?i)\b(manager|counsel) ", "", printed)).replace("’", "'").lower()
