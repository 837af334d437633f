"""The columns of the Congressional Record's plain text, read line by line.

A paragraph somebody says starts with two spaces (with a bullet where it was only handed in) and goes on at column
zero; matter inserted in print is indented five or more; headings are centred blocks between blank lines. Page marks
and time marks cut through any of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fedtext.largefedbench.turns import SPOKEN, Paragraph

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
    """The paragraph being read and what the last line left behind."""

    kind: str = "heading"
    lines: list[str] = field(default_factory=list)
    after_blank: bool = True
    after_page: bool = False
    in_note: bool = False

    def goes_on(self) -> bool:
        """Whether a line at column zero that is no mark goes on with the open paragraph."""
        return not (self.after_blank or self.after_page or self.in_note)

    def close(self) -> Iterator[Paragraph]:
        """The paragraph read so far, if any."""
        if self.lines:
            yield Paragraph(join_lines(self.lines), self.kind)
        self.lines = []


def paragraphs(text: str) -> Iterator[Paragraph]:
    """Paragraphs of one granule in order; marks inside a paragraph come before it, so that it stays whole."""
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
    """The kind of a line that is a mark by itself, or None."""
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
    """The kind of the paragraph this line opens, or None if it goes on with the open one."""
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
    """One line of text; a word or number cut at its own hyphen or dash is closed up again."""
    text = lines[0]
    for line in lines[1:]:
        cut = text.endswith("-") and (text.endswith("--") or line[:1].islower() or line[:1].isdigit())
        text += line if cut else f" {line}"
    return text
