"""The columns of the Congressional Record's plain text, read line by line.

A spoken paragraph starts with two spaces (with a bullet where it was only handed in) and goes on at column
zero; matter inserted in print is indented five or more; headings are centred blocks between blank lines. Page marks
and time marks cut through any of them.

Quotations that a member reads aloud: printed like inserted matter, but announced by the member's own colon.

"He went on to observe:" and an indented block is speech. After "ordered to be printed in the Record, as follows:" the
same block is matter inserted in print, and so is the text of a bill or an amendment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fedtext.largefedbench.sources.us_labels import ADDRESSED, label
from fedtext.largefedbench.turns import INSERTED, SPOKEN, Paragraph, n_words

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
            if _speaks_at_column_zero(line, reader):
                yield from reader.close()
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
    if reader.after_page and indent < SPEECH_INDENT:
        # A sentence cut by the page goes on; a heading in capitals or a speaker after a finished one does not.
        finished = not reader.lines or reader.lines[-1].endswith((".", "?", "!", "''", ":"))
        if _speaks_at_column_zero(line.lstrip(), reader):
            return SPOKEN
        return "heading" if finished and line.strip().isupper() else None
    if reader.after_blank:
        return "heading"
    if indent and reader.kind == SPOKEN and (following[:1].strip() or label(line.strip())):
        return SPOKEN  # a paragraph indented one, three or four by mistake: the next line is back at column zero
    return None


_IN_CAPITALS = re.compile(r"(?:\w+\.?\s+){1,3}[^a-z\s]{3}")


def _speaks_at_column_zero(line: str, reader: _Reader) -> bool:
    """Return whether a line that lacks its indent begins another's turn: a label in capitals after a whole sentence."""
    ended = reader.kind == SPOKEN and reader.lines and reader.lines[-1].endswith((".", "?", "!", "''"))
    return bool(ended) and bool(_IN_CAPITALS.match(line)) and label(line) is not None


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
            printed = printed and not ADDRESSED.match(paragraph.text)
            if printed:
                yield Paragraph(paragraph.text, INSERTED)
                continue
            printed = bool(_ORDERED.search(paragraph.text))
        yield paragraph


def _is_heading(text: str) -> bool:
    """Return whether a text has a few words and no mark at its end: a centred heading of the record."""
    return text[-1:].isalnum() and n_words(text) <= HEADING_WORDS
