"""US Congressional Record, one package a day: `us/**/CREC-*/{html/*.htm,mods.xml}` or `us/**/CREC-*.zip`.

`mods.xml` says what each granule is and who speaks in it; the granule's text is set in fixed columns (`us_lines`). The
Extensions of Remarks and the Daily Digest are not spoken. Works of the US government: public domain.

A day's package of the US record, file by file: a directory or a zip file, in which one bad file is one loss.

What cannot be read is an error in its own place, so the rest of the day is read; what `mods.xml` lists and the package
lacks is named.

A page of a whole section ("STATEMENTS ON INTRODUCED BILLS") repeats the pages of its parts: each word is read once.

The text alone decides. A granule is part of a longer one if nearly all that is spoken in it stands there too, in the
same order; the part keeps its words, and in the section they become `copy_of_sub_granule`.
"""

from __future__ import annotations

import datetime
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fedtext.largefedbench.raw_pages import (
    MAX_BYTES,
    Completeness,
    RawPage,
    RawPageError,
    SkippedPageError,
    parse_xml,
    possible_date,
    printable,
    read_bytes,
    reading,
    regular,
    unpacked,
)
from fedtext.largefedbench.sources import us_lines
from fedtext.largefedbench.sources.us_labels import (
    MemberNames,
    Person,
    label,
    members_by_name,
    unknown_label,
)
from fedtext.largefedbench.sources.us_text import UNKNOWN_SIGN, preformatted, validate_page_date
from fedtext.largefedbench.turns import COPY, NOT_SPOKEN, SPEECH, SPOKEN, Paragraph, Turn, Unknown, joined
from fedtext.system.errors import InputError

MODS_NAME = "mods.xml"
# What the builder reads of a package, below whatever folders it was packed in, but never above it; "._..." is a shadow
# of another system.
_READ = re.compile(r"(?!(?:.*/)?\.\./)(?:.*/)?(?P<name>mods\.xml|html/(?!\._)[^/]+\.htm)(?:\.gz)?", re.IGNORECASE)

# What else the Government Publishing Office puts into a package, and what systems leave beside files.
_PASSED_OVER = re.compile(
    r"\.(?:pdf|jpe?g|gif|png|tiff?)$|(?:^|/)(?:dip|premis|fdsys)\.xml$|(?:^|/)(?:\.|_|Thumbs\.db|__MACOSX/)",
    re.IGNORECASE,
)


def package_files(page: RawPage) -> Iterator[tuple[str, bytes | RawPageError]]:
    """Yield (path inside the package, bytes or the error) of mods.xml and every granule, in path order.

    Files of the package in other formats (PDF, metadata for libraries) are passed over; all others are errors by name.

    Raises:
        RawPageError: Nothing of the package can be read, as in a zip file without its table of contents.
    """
    seen = set[str]()
    for name, read in _of_directory(page) if page.path.is_dir() else _of_archive(page):
        part = f"{page.name}/{printable(name)}"
        if read is None:
            yield (
                name,
                SkippedPageError(
                    part, "its name is not of a granule (html/*.htm) or of mods.xml", code="part-of-no-kind"
                ),
            )
            continue
        try:
            with reading(part):
                if name in seen:
                    raise InputError("comes twice in the package", code="part-twice")
                seen.add(name)
                yield name, read()
        except RawPageError as error:
            yield name, error


def completeness(page: RawPage, listed: Collection[str], present: Collection[str]) -> Completeness:
    """Compare the granules that `mods.xml` lists with those that are there, readable or not."""
    there = {name.casefold() for name in present}
    missing = sorted(name for name in set(listed) if name.casefold() not in there)
    return Completeness(f"{page.name}/{MODS_NAME}", len(listed), tuple(name or "one without an id" for name in missing))


Read = Callable[[], bytes] | None  # none for a file that the builder does not know


def _of_directory(page: RawPage) -> Iterator[tuple[str, Read]]:
    with reading(page.name):
        paths = sorted(page.path.rglob("*"))
    for path in paths:
        name = path.relative_to(page.path).as_posix()
        if match := _READ.fullmatch(name):
            yield match["name"], partial(read_bytes, path) if printable(name) == name else None
        elif not (path.is_dir() and not path.is_symlink()) and not _PASSED_OVER.search(name):
            yield name, None


def _of_archive(page: RawPage) -> Iterator[tuple[str, Read]]:
    with reading(page.name):
        archive = zipfile.ZipFile(regular(page.path))
    room = MAX_BYTES  # for all files together
    with archive:
        for entry in sorted(archive.infolist(), key=lambda e: e.filename):
            # Some programs of Windows write "\", a drive, or "." and empty parts.
            parts = re.sub(r"^[A-Za-z]:", "", entry.filename.replace("\\", "/")).split("/")
            name = "/".join(
                part for number, part in enumerate(parts) if part not in ("", ".") or number == len(parts) - 1
            )
            if match := _READ.fullmatch(name):
                room -= entry.file_size
                yield match["name"], partial(_extract, archive, entry, room)
            elif not name.endswith("/") and not _PASSED_OVER.search(name):
                yield name, None


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> bytes:
    if room < 0:
        raise InputError(
            f"the package holds more than {MAX_BYTES} bytes of text", code="text-of-package-too-large", value=MAX_BYTES
        )
    return unpacked(archive.read(entry))


def stem(name: str) -> str:
    """Return a granule's id: the name of its file without the extension."""
    return Path(name).stem


SPEAKER_LABEL = "speaker_label"
MIN_WORDS = 25  # a part with fewer spoken words may be formulas that any page holds
MIN_SHARE = 0.8  # of the part's spoken words, found in the section


class _Line(NamedTuple):
    """A spoken paragraph or a speaker's label: where it stands, its text without spaces, and its number of words."""

    turn: int
    paragraph: int
    text: str
    words: int


def without_copies(granules: Sequence[list[Turn]]) -> list[list[Turn]]:
    """Return the turns of one day's granules, in order, copies in longer granules marked as such."""
    lines = [_lines(turns) for turns in granules]
    words = [sum(line.words for line in one) for one in lines]
    places = _index(lines)
    copied: dict[int, set[int]] = defaultdict(set)
    for part, own in enumerate(lines):
        if words[part] < MIN_WORDS:
            continue
        for whole, runs in _runs(part, places, lines).items():
            found = sum(own[number].words for number in {number for number, _ in runs})
            if (words[whole], whole) > (words[part], part) and found >= MIN_SHARE * words[part]:
                copied[whole] |= {number for _, number in runs}
    return [_marked(turns, [lines[g][n] for n in sorted(copied[g])]) for g, turns in enumerate(granules)]


def _lines(turns: Sequence[Turn]) -> list[_Line]:
    return [
        _Line(number, place, "".join(words), len(words))
        for number, turn in enumerate(turns)
        for place, paragraph in enumerate(turn.paragraphs)
        if paragraph.kind in (SPOKEN, SPEAKER_LABEL) and (words := paragraph.text.split())
    ]


def _key(own: Sequence[_Line], number: int) -> str:
    """Return the key of a run of at least `MIN_WORDS` words that starts at this line: the line, or it and the next.

    "The PRESIDING OFFICER." stands a hundred times in a day; with the line after it, it hardly ever does.
    """
    line = own[number]
    if line.words >= MIN_WORDS or number + 1 == len(own):
        return line.text
    return f"{line.text} {own[number + 1].text}"


def _index(lines: Sequence[Sequence[_Line]]) -> dict[str, list[tuple[int, int]]]:
    """Return the possible starts of a run, as (granule, line), by its key."""
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for granule, own in enumerate(lines):
        for number in range(len(own)):
            places[_key(own, number)].append((granule, number))
    return places


def _runs(
    part: int, places: dict[str, list[tuple[int, int]]], lines: Sequence[Sequence[_Line]]
) -> dict[int, list[tuple[int, int]]]:
    """Return, by other granule, pairs of lines (here, there) that are equal in runs of at least `MIN_WORDS` words."""
    own = lines[part]
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    ends: dict[tuple[int, int], int] = {}  # (other granule, shift) -> first line here after the run last taken
    for number in range(len(own)):
        starts = places[_key(own, number)]
        if len(starts) == 1:  # here alone, as most lines are
            continue
        for whole, there in starts:
            if whole == part or ends.get((whole, there - number), 0) > number:
                continue
            length = _length(own[number:], lines[whole][there:])
            ends[whole, there - number] = number + length
            if sum(one.words for one in own[number : number + length]) >= MIN_WORDS:
                found[whole] += [(number + step, there + step) for step in range(length)]
    return found


def _length(left: Sequence[_Line], right: Sequence[_Line]) -> int:
    """Return the number of lines that read the same from the start of both."""
    length = 0
    for one, other in zip(left, right, strict=False):
        if one.text != other.text:
            break
        length += 1
    return length


def _marked(turns: list[Turn], copied: Sequence[_Line]) -> list[Turn]:
    """Return the turns with `copied` paragraphs marked; a turn with nothing else spoken is left out whole."""
    by_turn: dict[int, set[int]] = defaultdict(set)
    for line in copied:
        by_turn[line.turn].add(line.paragraph)
    return [_marked_turn(turn, by_turn[number]) if number in by_turn else turn for number, turn in enumerate(turns)]


def _marked_turn(turn: Turn, copied: set[int]) -> Turn:
    paragraphs = tuple(
        Paragraph(p.text, COPY) if place in copied and p.kind == SPOKEN else p
        for place, p in enumerate(turn.paragraphs)
    )
    spoken = any(p.kind == SPOKEN and p.text.strip() for p in paragraphs)
    return replace(turn, paragraphs=paragraphs, kind=turn.kind if spoken else COPY)


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
    """The facts of `mods.xml` about one granule: its classes, its title, and its speakers by printed name."""

    kind: str = ""
    subkind: str = ""
    title: str = ""
    speakers: dict[str, Person] = field(default_factory=dict)

    def is_notice(self) -> bool:
        """Whether it prints notices of meetings rather than what was said."""
        return self.subkind in NOTICE_CLASSES or bool(NOTICE_TITLE.match(self.title.upper()))


def parse(page: RawPage) -> Iterator[Turn | RawPageError | Completeness]:
    """Yield every turn of one day; a file of it that cannot be read is yielded as an error and the others go on."""
    with reading(page.name):
        date = _package_date(page)
    files = list(package_files(page))
    mods = next((data for name, data in files if name.lower() == MODS_NAME), None)
    texts = [
        (name, data) for name, data in files if name.lower() != MODS_NAME and not isinstance(data, SkippedPageError)
    ]
    if mods is None and not texts:
        yield from (data for _, data in files if isinstance(data, RawPageError))
        raise RawPageError(
            page.name, f"holds neither {MODS_NAME} nor a granule (html/*.htm)", code="package-holds-no-granule"
        )
    granules = dict[str, Granule]()
    if mods is None:
        yield RawPageError(
            f"{page.name}/{MODS_NAME}", "missing: speakers of this day have no id", code="package-without-mods"
        )
    elif isinstance(mods, bytes):
        try:
            granules = _granules(page, mods)
            yield completeness(page, granules, {stem(name) for name, _ in texts})
        except RawPageError as error:
            yield error
    listed = {one.casefold(): one for one in granules}  # a package's names may all be in capitals
    rolls = {kind: _names_of_chamber(granules, kind) for kind in CLASS_OF_LETTER.values()}
    parsed: list[list[Turn]] = []
    for name, data in files:
        if isinstance(data, RawPageError):
            yield data
        elif name.lower() != MODS_NAME:
            try:
                granule_id = listed.get(stem(name).casefold(), stem(name))
                parsed.append(_parse_granule(f"{page.name}/{name}", granule_id, data, date, granules, rolls))
            except RawPageError as error:
                yield error
    for turns in without_copies(parsed):
        yield from turns


def _package_date(page: RawPage) -> str:
    match = PACKAGE.search(Path(page.name).name)
    if match is None:
        raise InputError("the package is not named CREC-<date>", code="package-name")
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
    return joined(item.findtext(f".//{MODS}accessId")), Granule(kind, subkind, title, members_by_name(speakers))


def _parse_granule(
    name: str,
    granule_id: str,
    data: bytes,
    date: str,
    granules: dict[str, Granule],
    rolls: dict[str, dict[str, Person]],
) -> list[Turn]:
    """Return a granule's turns, each with the labels and names in it that nothing explains."""
    text = preformatted(name, data)
    granule = granules.get(granule_id) or Granule()
    with reading(name):
        validate_page_date(text, date)
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
        roll = MemberNames(granule.speakers, rolls.get(kind, {}))
        turns = []
        for number, (speaker, turn_kind, parts, unknown) in enumerate(_turns(paragraphs, roll)):
            named = turn_kind in (SPEECH, NOT_SPOKEN)
            person = roll.find(speaker) if named else Person(speaker, "")
            if named and granules and not roll.has(speaker):
                unknown.append(Unknown("name_not_in_mods", speaker))
            turns.append(Turn(
                f"{base}.{number:04d}", "us", "printed_notice" if granule.is_notice() else turn_kind, date,
                tuple(parts), country="US", chamber=kind.title(), speaker=person.name, speaker_id=person.id,
                title=title, url=url, license=LICENSE, floor_language="en", label="US", unknown=tuple(unknown),
            ))  # fmt: skip
        return turns


def _names_of_chamber(granules: dict[str, Granule], kind: str) -> dict[str, Person]:
    """Return all members that `mods.xml` names as speaking in that chamber on the day."""
    return members_by_name(item for one in granules.values() if one.kind == kind for item in one.speakers.items())


def _turns(paragraphs: list[Paragraph], roll: MemberNames) -> Iterator[tuple[str, str, list[Paragraph], list[Unknown]]]:
    """Yield (speaker as printed, kind, paragraphs, labels that are not known) from one speaker's label to the next.

    Paragraphs before the first label have no speaker.
    """
    speaker, kind, parts, unknown = "", "unattributed", list[Paragraph](), list[Unknown]()
    for paragraph in paragraphs:
        found = label(paragraph.text, roll) if paragraph.kind == SPOKEN else None
        if found is None:
            parts.append(paragraph)
            if paragraph.kind == SPOKEN and (name := unknown_label(paragraph.text)):
                unknown.append(Unknown("label", name))
            unknown += _unknown_signs(paragraph)
            continue
        yield from _turn(speaker, kind, parts, unknown)
        speaker, kind, unknown = found.name, found.kind, _unknown_signs(paragraph)
        if not found.known:
            unknown.append(Unknown("label", found.name))
        parts = [Paragraph(paragraph.text[: found.end], "speaker_label"), Paragraph(paragraph.text[found.end :])]
    yield from _turn(speaker, kind, parts, unknown)


def _unknown_signs(paragraph: Paragraph) -> list[Unknown]:
    return [Unknown("markup", sign) for sign in UNKNOWN_SIGN.findall(paragraph.text)]


def _turn(
    speaker: str, kind: str, parts: list[Paragraph], unknown: list[Unknown]
) -> Iterator[tuple[str, str, list[Paragraph], list[Unknown]]]:
    """Yield the finished turn unless it is empty.

    Quotations are speech, and a bullet at the turn's end means that it was handed in.
    """
    if not parts:
        return
    if kind == SPEECH:
        last = next((p.text for p in reversed(parts) if p.kind == SPOKEN), "")
        kind = NOT_SPOKEN if last.endswith(us_lines.BULLETS) else SPEECH
        parts = us_lines.read_aloud(parts)
    yield speaker, kind, parts, unknown
