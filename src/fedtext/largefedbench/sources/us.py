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
from fedtext.largefedbench.sources.us_package import MODS_NAME, completeness, package_files, stem
from fedtext.largefedbench.sources.us_page import preformatted, refuse_other_day
from fedtext.largefedbench.turns import SPEECH, SPOKEN, Paragraph, Turn, joined
from fedtext.system.errors import InputError

LICENSE = "public_domain_us"
PACKAGE = re.compile(r"CREC-(\d{4}-\d{2}-\d{2})")
MODS = "{http://www.loc.gov/mods/v3}"
# Granule classes nobody speaks, and the letter their page numbers start with.
UNSPOKEN_CLASSES = {"EXTENSIONS": "extensions_of_remarks", "DAILYDIGEST": "daily_digest"}
CLASS_OF_LETTER = {"H": "HOUSE", "S": "SENATE", "E": "EXTENSIONS", "D": "DAILYDIGEST"}

_TITLE = "(?:Mr|MR|Mrs|MRS|Ms|MS|Miss|MISS|Dr|DR|Chairman|Senator)"
_CAPITAL = "[A-ZÀ-Þ]"
_NAME = (
    rf"(?:De |La |Van |de la )*(?:{_CAPITAL}[a-zA-ZÀ-ÿ'’-]*{_CAPITAL}{{2,}}(?:{_CAPITAL}|['’-])*"
    rf"|{_CAPITAL}{{2,}}|{_CAPITAL}\.)"
)
_STATE = r"(?: of (?:the )?[A-Z][a-z]+(?: [A-Z][a-z]+)*)?"
MEMBER = re.compile(
    rf"(?P<bullet>•\s*)?(?P<name>{_TITLE}\.? {_NAME}(?: {_NAME})*{_STATE})"
    r"(?: \([^()]*\))?\.\s+"
)
CHAIR = re.compile(
    r"(?P<name>T(?:he|HE) (?:A(?:cting|CTING) )?(?:SPEAKER|PRESIDING OFFICER|VICE PRESIDENT|PRESIDENT|CHIEF JUSTICE"
    r"|C(?:hairman|HAIRMAN|HAIRWOMAN|HAIR)|C(?:lerk|LERK)|C(?:haplain|HAPLAIN))(?: pro tempore| PRO TEMPORE)?)"
    r"(?: \([^()]*\))*\.(?:\s+|$)"
)


@dataclass
class Granule:
    """What `mods.xml` says of one granule: its class, its title, and speakers as (name, id) by printed name."""

    kind: str = ""
    title: str = ""
    speakers: dict[str, tuple[str, str]] = field(default_factory=dict)


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
    for name, data in files:
        if isinstance(data, RawPageError):
            yield data
        elif name.lower() != MODS_NAME:
            try:
                yield from _parse_granule(f"{page.name}/{name}", stem(name), data, date, granules)
            except RawPageError as error:
                yield error


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
    speakers = {}
    for member in item.iterfind(f".//{MODS}congMember[@role='SPEAKING']"):
        names = {name.get("type"): joined(name.text) for name in member.iterfind(f"{MODS}name")}
        if parsed := names.get("parsed"):
            speakers[parsed.lower()] = (names.get("authority-fnf") or parsed, member.get("bioGuideId") or "")
    title = joined(item.findtext(f"{MODS}titleInfo/{MODS}title"))
    kind = joined(item.findtext(f".//{MODS}granuleClass")).upper()
    return joined(item.findtext(f".//{MODS}accessId")), Granule(kind, title, speakers)


def _parse_granule(name: str, granule_id: str, data: bytes, date: str, granules: dict[str, Granule]) -> Iterator[Turn]:
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
            yield Turn(base, "us", left_out, date, (Paragraph(joined(text), left_out),))
            return
        paragraphs = list(us_lines.paragraphs(text))
        title = granule.title or next((p.text for p in paragraphs if p.kind == "heading"), "")
        url = f"https://www.govinfo.gov/content/pkg/CREC-{date}/html/{granule_id}.htm"
        for number, (speaker, turn_kind, parts) in enumerate(_turns(paragraphs)):
            full_name, speaker_id = granule.speakers.get(speaker.lower(), (speaker, ""))
            yield Turn(
                f"{base}.{number:04d}", "us", turn_kind, date, tuple(parts), country="US", chamber=kind.title(),
                speaker=full_name, speaker_id=speaker_id, title=title, url=url, license=LICENSE, floor_language="en",
                label="US",
            )  # fmt: skip


def _turns(paragraphs: list[Paragraph]) -> Iterator[tuple[str, str, list[Paragraph]]]:
    """(Speaker as printed, kind, paragraphs) from one speaker's label to the next; before the first, nobody's text."""
    speaker, kind, parts = "", "unattributed", list[Paragraph]()
    for paragraph in paragraphs:
        match = None
        if paragraph.kind == SPOKEN:
            match = MEMBER.match(paragraph.text) or CHAIR.match(paragraph.text)
        if match is None:
            parts.append(paragraph)
            continue
        if parts:
            yield speaker, kind, parts
        speaker = match.group("name")
        kind = "chair" if match.re is CHAIR else "not_spoken" if match.group("bullet") else SPEECH
        parts = [Paragraph(match.group(), "speaker_label"), Paragraph(paragraph.text[match.end() :])]
    if parts:
        yield speaker, kind, parts
