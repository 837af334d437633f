"""UK Parliament, TheyWorkForYou's XML, a file a day and revision: `uk/**/<kind><date><letter>.xml[.gz]`.

Only the last revision of a day counts. Speeches with `nospeaker` are nobody's; `uk_paragraphs` says what of a speech is
not said. Open Parliament Licence v3.0.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from fedtext.largefedbench.raw_pages import RawPage, parse_xml, possible_date, reading
from fedtext.largefedbench.sources.uk_chairs import NOTICE, Chairs
from fedtext.largefedbench.sources.uk_paragraphs import paragraphs
from fedtext.largefedbench.turns import CHAIR_TURN, SPEECH, Paragraph, Turn, joined
from fedtext.system.errors import InputError

LICENSE = "open_parliament_3"
PAGE = re.compile(
    r"(?P<kind>debates|westminster|westminhall|daylord|lordspages)(?P<date>\d{4}-\d{2}-\d{2})(?P<letter>[a-z]*)\.(?i:xml)"
)
LORDS = "House of Lords"
CHAMBERS = {"debates": "House of Commons", "daylord": LORDS, "lordspages": LORDS}
HEADINGS = frozenset({"major-heading", "minor-heading", "oral-heading"})
SPEECH_ID = re.compile(r"uk\.org\.publicwhip/(?P<kind>\w+)/\d{4}-\d{2}-\d{2}[a-z]*\.(?P<number>[\w.]+)")
DATE_IN_ID = re.compile(r"/(?P<date>\d{4}-\d{2}-\d{2})")


def mark_superseded(pages: list[RawPage]) -> list[RawPage]:
    """The pages, every revision of a day but the one with the highest letter marked superseded."""
    last: dict[str, str] = {}
    for page in pages:
        match = PAGE.search(page.name)
        if match:
            day = page.name[: match.start("letter")]
            last[day] = max(last.get(day, ""), match["letter"], key=lambda letter: (len(letter), letter))
    return [
        RawPage(page.name, page.path, superseded=bool(m and m["letter"] != last[page.name[: m.start("letter")]]))
        for page in pages
        for m in [PAGE.search(page.name)]
    ]


def parse(page: RawPage) -> Iterator[Turn]:
    """Every speech and heading of one day, in order; all are `superseded_revision` if a later revision is there."""
    root = parse_xml(page.name, page.read(), root="publicwhip")
    with reading(page.name):
        match = PAGE.search(page.name)
        if match is None:
            raise InputError("the file is not named <kind><date><letter>.xml")
        date = _own_date(root, match["date"])
        superseded = page.superseded or root.get("latest") == "no"
        day = _Day(date, CHAMBERS.get(match["kind"], "Westminster Hall"), match["kind"])
        for number, element in enumerate(root):
            yield day.turn(element, number, superseded=superseded)


def _own_date(root: Any, named: str) -> str:
    """The date of the file's name, which most of its speeches' ids must bear out."""
    day = datetime.date.fromisoformat(named)
    date = possible_date(day.year, day.month, day.day)
    ids = (DATE_IN_ID.search(element.get("id") or "") for element in root.iterchildren("speech"))
    ((own, _),) = Counter(match["date"] for match in ids if match).most_common(1) or [(date, 0)]
    if own != date:
        raise InputError(f"a day of {own} in a file named {date}")
    return date


class _Day:
    """What carries over from one element of a day to the next: titles, who is in the chair, ids already used."""

    def __init__(self, date: str, chamber: str, kind: str) -> None:
        self.date, self.chamber, self.kind = date, chamber, kind
        self.titles = {"major-heading": "", "minor-heading": ""}
        self.chairs = Chairs(date, lords=chamber == LORDS)
        self.seen: set[str] = set()

    def turn(self, element: Any, number: int, *, superseded: bool) -> Turn:
        """The turn of one top-level element."""
        if element.tag in HEADINGS:
            self._note_title(element)
        if element.tag == "speech":
            parts = tuple(paragraphs(element))
            text = " ".join(p.text for p in parts)
            self.chairs.notice(text)
            kind = self._kind(element, text)
        else:
            kind = (
                "heading" if element.tag in HEADINGS else "division" if element.tag == "division" else "unknown_element"
            )
            parts = (Paragraph(joined(*element.itertext()), kind),)
        speaker = joined(element.get("speakername"))
        return Turn(
            self._client_id(element, number), "uk", "superseded_revision" if superseded else kind, self.date,
            parts,
            country="GB", chamber=self.chamber, speaker=speaker,
            speaker_id=(element.get("person_id") or element.get("speakerid") or "").rpartition("/")[2],
            title=" - ".join(title for title in self.titles.values() if title), url=self._url(element), license=LICENSE,
            floor_language="en", label="GB",
        )  # fmt: skip

    def _note_title(self, element: Any) -> None:
        text = joined(*element.itertext())
        self.chairs.notice(text)  # "[Mr. Joe Benton in the Chair]" may stand in a heading
        title = joined(NOTICE.sub("", text)).strip(" —–-")
        if not title:
            return
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
        client_id, copy = f"{self.date}.uk.{part}", 1
        while client_id in self.seen:
            copy += 1
            client_id = f"{self.date}.uk.{part}.copy{copy}"
        self.seen.add(client_id)
        return client_id

    def _url(self, element: Any) -> str:
        path = {"debates": "debates", "daylord": "lords", "lordspages": "lords"}.get(self.kind, "whall")
        return f"https://www.theyworkforyou.com/{path}/?id={(element.get('id') or '').rpartition('/')[2]}"
