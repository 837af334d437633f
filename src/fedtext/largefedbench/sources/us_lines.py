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

from fedtext.largefedbench.turns import CHAIR_TURN, COLLECTIVE, INSERTED, NOT_SPOKEN, SPEECH, SPOKEN, Paragraph, n_words

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
    reader = _Reader()
    lines = text.expandtabs().splitlines()
    for number, line in enumerate(lines):
        if reader.goes_on() and line[:1].isalnum():  # most lines: the rest below would come to the same
            reader.lines.append(line.rstrip())
            continue
        stripped = line.strip()
        if not stripped:
            reader.after_blank = True
            continue
        following = lines[number + 1] if number + 1 < len(lines) else ""
        kind = _mark(stripped, reader)
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


def _mark(stripped: str, reader: _Reader) -> str | None:
    """Return the kind of a line that is a mark by itself, or None."""
    if stripped[0] not in MARK_STARTS and not reader.in_note:
        return None
    note = NOTE.match(stripped)
    if note:
        reader.in_note = not note.group(1)
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
    if indent and reader.kind == SPOKEN and following[:1].strip():
        return SPOKEN  # a paragraph indented three or four by mistake: the next line is back at column zero
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
# The full stop that ends a label, or the comma set for it by mistake before an address to the chair.
_STOP = rf"(?:\.(?:\s+|$)|[,:;]? (?={_ADDRESS}))"
MEMBER = re.compile(
    rf"(?P<bullet>[•●]\s*)?(?P<name>(?:{_PERSONAL}|{_OFFICES}) {_NAME}(?: {_NAME})*{_STATE}){_ASIDE}{_STOP}"
)
# The President of the United States, before a joint session; nobody is called so while Congress sits alone.
GUEST = re.compile(rf"(?P<name>The (?:PRESIDENT(?! pro)|QUEEN|KING|POPE|PRIME MINISTER)){_ASIDE}\.(?:\s+|$)")
CHAIR = re.compile(
    r"(?P<name>T(?:he|HE) (?:A(?:cting|CTING) )?(?:(?:D(?:eputy|EPUTY)|A(?:ssistant|SSISTANT)|R(?:eading|EADING)) )?"
    r"(?:SPEAKER|PRESIDING OFFICER|VICE PRESIDENT|PRESIDENT|CHIEF JUSTICE"
    r"|(?:T(?:emporary|EMPORARY) |V(?:ice|ICE) )?C(?:hairman|HAIRMAN|HAIRWOMAN|HAIR)|C(?:lerk|LERK)"
    r"|C(?:haplain|HAPLAIN)|P(?:arliamentarian|ARLIAMENTARIAN)"
    r"|S(?:ergeant|ERGEANT) (?:at|AT) A(?:rms|RMS)|DOORKEEPER)"
    rf"(?: pro tempore| PRO TEMPORE)?){_ASIDE}\.(?:\s+|$)"
)
CROWD = re.compile(
    r"(?P<name>(?:(?:S(?:everal|EVERAL)|S(?:ome|OME)|M(?:any|ANY)) )"
    r"(?:M(?:embers|EMBERS)|S(?:enators|ENATORS)|V(?:oices|OICES)))\.(?:\s+|$)"
)

SHORTEST_TYPO = len("mr. smith")  # Reed and Reid are two senators: short names are taken as printed


class Label(NamedTuple):
    """A speaker's label at the start of a paragraph: the name as printed, the kind of turn it opens, where it ends."""

    name: str
    kind: str
    end: int


class Person(NamedTuple):
    """A member's full name and Biographical Directory id; the id is empty for a guest."""

    name: str
    id: str


def label(text: str) -> Label | None:
    """Return the speaker's label that `text` opens with, or None."""
    for pattern, kind in ((MEMBER, SPEECH), (GUEST, SPEECH), (CHAIR, CHAIR_TURN), (CROWD, COLLECTIVE)):
        match = pattern.match(text)
        if match:
            handed_in = pattern is MEMBER and match["bullet"]
            return Label(match["name"], NOT_SPOKEN if handed_in else kind, match.end())
    return None


class MemberNames:
    """The members that `mods.xml` names, by printed name: those who speak in a granule first, then the day's."""

    def __init__(self, granule: Mapping[str, Person], day: Mapping[str, Person]) -> None:
        self._lists = (granule, day)

    def find(self, printed: str) -> Person:
        """Return the person of a printed name; a typo is read as the only name one edit away.

        A name that is not listed is kept as printed.
        """
        key = _key(printed)
        for names in self._lists:
            if key in names:
                return names[key]
        for names in self._lists if len(key) >= SHORTEST_TYPO else ():
            near = {person for name, person in names.items() if one_edit_apart(key, name)}
            if len(near) == 1:
                return near.pop()
        return Person(printed, "")


def members_by_name(names: Iterable[tuple[str, Person]]) -> dict[str, Person]:
    """Map printed names to persons; a name that two persons share maps to none."""
    roll: dict[str, Person | None] = {}
    for printed, person in names:
        key = _key(printed)
        roll[key] = person if roll.get(key, person) == person else None
    return {key: person for key, person in roll.items() if person is not None}


def _key(printed: str) -> str:
    return re.sub(r"(?i)\b(manager|counsel) ", "", printed).lower()


def one_edit_apart(a: str, b: str) -> bool:
    """Return whether `b` is `a` with one letter inserted, left out or changed, or two neighbours swapped."""
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    if len(a) > len(b):
        a, b = b, a
    start = next((place for place in range(len(a)) if a[place] != b[place]), len(a))
    if len(a) < len(b):
        return a[start:] == b[start + 1 :]
    swapped = a[start : start + 2] == b[start : start + 2][::-1]
    return a[start + 1 :] == b[start + 1 :] or (swapped and a[start + 2 :] == b[start + 2 :])
