"""US Congressional Record, one package a day: `us/**/CREC-*/{html/*.htm,mods.xml}` or `us/**/CREC-*.zip`.

`mods.xml` says what each granule is and who speaks in it; the granule's text is set in fixed columns (`us_lines`). The
Extensions of Remarks and the Daily Digest are not spoken. Works of the US government: public domain.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedtext.largefedbench.raw_pages import (
    Completeness,
    RawPage,
    RawPageError,
    parse_xml,
    possible_date,
    reading,
)
from fedtext.largefedbench.sources import us_lines
from fedtext.largefedbench.sources.us_copies import without_copies
from fedtext.largefedbench.sources.us_package import MODS_NAME, completeness, package_files, stem
from fedtext.largefedbench.sources.us_page import preformatted, refuse_other_day
from fedtext.largefedbench.sources.us_quotations import read_aloud
from fedtext.largefedbench.sources.us_speakers import Person, Roll, label, roll_of
from fedtext.largefedbench.turns import NOT_SPOKEN, SPEECH, SPOKEN, Paragraph, Turn, joined
from fedtext.system.errors import InputError

LICENSE = "public_domain_us"
PACKAGE = re.compile(r"CREC-(\d{4}-\d{2}-\d{2})")
MODS = "{http://www.loc.gov/mods/v3}"
# Granule classes nobody speaks, and the letter their page numbers start with.
UNSPOKEN_CLASSES = {"EXTENSIONS": "extensions_of_remarks", "DAILYDIGEST": "daily_digest"}
CLASS_OF_LETTER = {"H": "HOUSE", "S": "SENATE", "E": "EXTENSIONS", "D": "DAILYDIGEST"}

# Printed with a speaker's label, yet never said: where and when committees will meet, whom to telephone.
NOTICE_CLASSES = frozenset({"SNOTICE", "SAUTHORITY"})
NOTICE_TITLE = re.compile(r"NOTICES? (?:OF|:)|NOTICES?$|AUTHORITY FOR COMMITTEES? TO MEET")


@dataclass
class Granule:
    """What `mods.xml` says of one granule: its classes, its title, and who speaks in it by printed name."""

    kind: str = ""
    subkind: str = ""
    title: str = ""
    speakers: dict[str, Person] = field(default_factory=dict)

    def is_notice(self) -> bool:
        """Whether it prints notices of meetings rather than what was said."""
        return self.subkind in NOTICE_CLASSES or bool(NOTICE_TITLE.match(self.title.upper()))


def parse(page: RawPage) -> Iterator[Turn | RawPageError | Completeness]:
    """Every turn of one day; a file of it that cannot be read is yielded as an error and the others go on."""
    with reading(page.name):
        date = _package_date(page)
    files = list(package_files(page))
    mods = next((data for name, data in files if name.lower() == MODS_NAME), None)
    texts = [(name, data) for name, data in files if name.lower() != MODS_NAME]
    granules = dict[str, Granule]()
    if mods is None:
        yield RawPageError(f"{page.name}/{MODS_NAME}", "missing: speakers of this day have no id")
    elif isinstance(mods, bytes):
        try:
            granules = _granules(page, mods)
            yield completeness(page, granules, {stem(name) for name, _ in texts})
        except RawPageError as error:
            yield error
    rolls = {kind: _names_of_chamber(granules, kind) for kind in CLASS_OF_LETTER.values()}
    parsed: list[list[Turn]] = []
    for name, data in files:
        if isinstance(data, RawPageError):
            yield data
        elif name.lower() != MODS_NAME:
            try:
                parsed.append(_parse_granule(f"{page.name}/{name}", stem(name), data, date, granules, rolls))
            except RawPageError as error:
                yield error
    for turns in without_copies(parsed):
        yield from turns


def _package_date(page: RawPage) -> str:
    match = PACKAGE.search(Path(page.name).name)
    if match is None:
        raise InputError("the package is not named CREC-<date>")
    day = datetime.date.fromisoformat(match.group(1))
    return possible_date(day.year, day.month, day.day)


def _granules(page: RawPage, data: bytes) -> dict[str, Granule]:
    name = f"{page.name}/mods.xml"
    root = parse_xml(name, data, root="mods")
    with reading(name):
        return dict(_granule(item) for item in root.iterfind(f"{MODS}relatedItem[@type='constituent']"))


def _granule(item: Any) -> tuple[str, Granule]:
    speakers = []
    for member in item.iterfind(f".//{MODS}congMember[@role='SPEAKING']"):
        names = {name.get("type"): joined(name.text) for name in member.iterfind(f"{MODS}name")}
        if parsed := names.get("parsed"):
            speakers.append((parsed, Person(names.get("authority-fnf") or parsed, member.get("bioGuideId") or "")))
    title = joined(item.findtext(f"{MODS}titleInfo/{MODS}title"))
    kind, subkind = (joined(item.findtext(f".//{MODS}{name}")).upper() for name in ("granuleClass", "subGranuleClass"))
    return joined(item.findtext(f".//{MODS}accessId")), Granule(kind, subkind, title, roll_of(speakers))


def _parse_granule(
    name: str,
    granule_id: str,
    data: bytes,
    date: str,
    granules: dict[str, Granule],
    rolls: dict[str, dict[str, Person]],
) -> list[Turn]:
    text = preformatted(name, data)
    granule = granules.get(granule_id) or Granule()
    with reading(name):
        refuse_other_day(text, date)
        letter = re.search(r"-Pg([A-Z])", granule_id)
        by_letter = CLASS_OF_LETTER.get(letter.group(1) if letter else "", "")
        kind = granule.kind if granule.kind in CLASS_OF_LETTER.values() else by_letter  # a damaged class is none
        base = f"{date}.us.{PACKAGE.sub('', granule_id).strip('-')}"
        if kind in UNSPOKEN_CLASSES:
            left_out = UNSPOKEN_CLASSES[kind]
            return [Turn(base, "us", left_out, date, (Paragraph(joined(text), left_out),))]
        paragraphs = list(us_lines.paragraphs(text))
        title = granule.title or next((p.text for p in paragraphs if p.kind == "heading"), "")
        url = f"https://www.govinfo.gov/content/pkg/CREC-{date}/html/{granule_id}.htm"
        roll = Roll(granule.speakers, rolls.get(kind, {}))
        turns = []
        for number, (speaker, turn_kind, parts) in enumerate(_turns(paragraphs)):
            person = roll.find(speaker) if turn_kind in (SPEECH, NOT_SPOKEN) else Person(speaker, "")
            turns.append(Turn(
                f"{base}.{number:04d}", "us", "printed_notice" if granule.is_notice() else turn_kind, date,
                tuple(parts), country="US", chamber=kind.title(), speaker=person.name, speaker_id=person.id,
                title=title, url=url, license=LICENSE, floor_language="en", label="US",
            ))  # fmt: skip
        return turns


def _names_of_chamber(granules: dict[str, Granule], kind: str) -> dict[str, Person]:
    """Everyone `mods.xml` names as speaking in that chamber on the day."""
    return roll_of(item for one in granules.values() if one.kind == kind for item in one.speakers.items())


def _turns(paragraphs: list[Paragraph]) -> Iterator[tuple[str, str, list[Paragraph]]]:
    """(Speaker as printed, kind, paragraphs) from one speaker's label to the next; before the first, nobody's text."""
    speaker, kind, parts = "", "unattributed", list[Paragraph]()
    for paragraph in paragraphs:
        found = label(paragraph.text) if paragraph.kind == SPOKEN else None
        if found is None:
            parts.append(paragraph)
            continue
        yield from _turn(speaker, kind, parts)
        speaker, kind = found.name, found.kind
        parts = [Paragraph(paragraph.text[: found.end], "speaker_label"), Paragraph(paragraph.text[found.end :])]
    yield from _turn(speaker, kind, parts)


def _turn(speaker: str, kind: str, parts: list[Paragraph]) -> Iterator[tuple[str, str, list[Paragraph]]]:
    """The finished turn, if there is anything in it: quotations are speech, and a bullet at its end says handed in."""
    if not parts:
        return
    if kind == SPEECH:
        last = next((p.text for p in reversed(parts) if p.kind == SPOKEN), "")
        kind = NOT_SPOKEN if last.endswith(us_lines.BULLETS) else SPEECH
        parts = read_aloud(parts)
    yield speaker, kind, parts
