"""US Congressional Record, one package a day: `us/**/CREC-*/{html/*.htm,mods.xml}` or `us/**/CREC-*.zip`.

`mods.xml` says what each granule is and who speaks in it; the granule's text is set in fixed columns (`us_lines`). The
Extensions of Remarks and the Daily Digest are not spoken. Works of the US government: public domain.
"""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from fedtext.largefedbench.raw_pages import (
    MAX_BYTES,
    RawPage,
    RawPageError,
    parse_html,
    parse_xml,
    read_bytes,
    reading,
)
from fedtext.largefedbench.sources import us_lines
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


def parse(page: RawPage) -> Iterator[Turn | RawPageError]:
    """Every turn of one day; a granule that cannot be read is yielded as an error and the others go on."""
    with reading(page.name):
        date = _package_date(page)
        files = list(_files(page))
    mods = [data for name, data in files if PurePosixPath(name).name == "mods.xml"]
    if not mods:
        yield RawPageError(f"{page.name}/mods.xml", "missing: speakers of this day have no id")
    granules = _granules(page, mods[0]) if mods else {}
    for name, data in files:
        if name.endswith(".htm"):
            stem = PurePosixPath(name).stem
            try:
                yield from _parse_granule(f"{page.name}/{name}", stem, data, date, granules.get(stem) or Granule())
            except RawPageError as error:
                yield error


def _package_date(page: RawPage) -> str:
    match = PACKAGE.search(Path(page.name).name)
    if match is None:
        raise InputError("the package is not named CREC-<date>")
    return datetime.date.fromisoformat(match.group(1)).isoformat()


def _files(page: RawPage) -> Iterator[tuple[str, bytes]]:
    """(Path inside the package, bytes) of mods.xml and every granule, in path order, from a directory or a zip file."""
    if page.path.is_dir():
        for path in sorted([*page.path.glob("mods.xml*"), *page.path.glob("html/*.htm*")]):
            yield path.relative_to(page.path).as_posix().removesuffix(".gz"), read_bytes(path)
        return
    with zipfile.ZipFile(page.path) as archive:
        for entry in sorted(archive.infolist(), key=lambda e: e.filename):
            if entry.filename.endswith(("/mods.xml", ".htm")):
                if entry.file_size > MAX_BYTES:
                    raise InputError(f"{entry.filename} is larger than {MAX_BYTES} bytes")
                yield entry.filename.partition("/")[2], archive.read(entry)


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


def _parse_granule(name: str, stem: str, data: bytes, date: str, granule: Granule) -> Iterator[Turn]:
    text = _preformatted(name, data)
    with reading(name):
        letter = re.search(r"-Pg([A-Z])", stem)
        kind = granule.kind or CLASS_OF_LETTER.get(letter.group(1) if letter else "", "")
        base = f"{date}.us.{PACKAGE.sub('', stem).strip('-')}"
        if kind in UNSPOKEN_CLASSES:
            left_out = UNSPOKEN_CLASSES[kind]
            yield Turn(base, "us", left_out, date, (Paragraph(joined(text), left_out),))
            return
        paragraphs = list(us_lines.paragraphs(text))
        title = granule.title or next((p.text for p in paragraphs if p.kind == "heading"), "")
        url = f"https://www.govinfo.gov/content/pkg/CREC-{date}/html/{stem}.htm"
        for number, (speaker, turn_kind, parts) in enumerate(_turns(paragraphs)):
            full_name, speaker_id = granule.speakers.get(speaker.lower(), (speaker, ""))
            yield Turn(
                f"{base}.{number:04d}", "us", turn_kind, date, tuple(parts), country="US", chamber=kind.title(),
                speaker=full_name, speaker_id=speaker_id, title=title, url=url, license=LICENSE, floor_language="en",
                label="US",
            )  # fmt: skip


def _preformatted(name: str, data: bytes) -> str:
    root = parse_html(name, data)
    with reading(name):
        blocks = root.findall(".//pre")
        if not blocks:
            raise InputError("no <pre> block")
        for mark in root.iter("bullet"):
            mark.text = f"•{mark.text or ''}"  # never closed: what follows is its content
        return "".join("".join(block.itertext()) for block in blocks)


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
