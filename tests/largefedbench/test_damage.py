"""Damaged pages, zips and mods.xml: every loss is named, nothing ends in a traceback, the rest is built."""

from __future__ import annotations

import gzip
import html
import random
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.shards import ShardTask, _turns
from fedtext.largefedbench.snapshot import provenance
from fedtext.largefedbench.sources import SOURCES, raw_pages
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base

from .fuzz import damaged
from .pages import US_DATE, US_EXTENSIONS, US_HOUSE, US_MODS

DAY = f"CREC-{US_DATE}"
SENATE = US_HOUSE.replace("[House]", "[Senate]").replace("PgH3001", "PgS9")
GRANULES = {f"{DAY}-pt1-PgH3001": US_HOUSE, f"{DAY}-pt1-PgS9": SENATE, f"{DAY}-pt1-PgE77": US_EXTENSIONS}
MODS = US_MODS.replace(
    "</mods>",
    f'<relatedItem type="constituent"><extension><granuleClass>SENATE</granuleClass><accessId>{DAY}-pt1-PgS9'
    "</accessId></extension></relatedItem></mods>",
)
FILES = {"mods.xml": MODS.encode()} | {f"html/{name}.htm": text.encode() for name, text in GRANULES.items()}


class Read(NamedTuple):
    """What became of a day: words by granule, and the losses by name."""

    words: dict[str, list[str]]
    losses: dict[str, str]


def read(raw: Path, words: ChunkTokenizer) -> Read:
    """The day below `raw` as a build reads it."""
    params = conf_base(LargeFedBench)
    pages = tuple(raw_pages(raw, SOURCES["us"]))
    losses = list[tuple[str, str]]()
    found = defaultdict[str, list[str]](list)
    for turn in _turns(
        SOURCES["us"], ShardTask("us", "congress", pages, raw, params, words), SourceCounts(), losses, {}
    ):
        granule = turn.client_id.split(".us.")[1].split(".")[0]
        found[f"{DAY}-{granule}"] += " ".join(p.text for p in turn.paragraphs).split()
    return Read(dict(found), dict(losses))


def write_directory(raw: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = raw / "us" / DAY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_zip(raw: Path, files: dict[str, bytes]) -> Path:
    path = raw / "us" / f"{DAY}.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"{DAY}/{name}", data)
    return path


Damage = Callable[[random.Random, Path], str]


def damaged_file(draw: random.Random, raw: Path) -> str:
    """One file of a directory's or a zip's day."""
    name = draw.choice(list(FILES))
    write = draw.choice([write_directory, write_zip])
    write(raw, {**FILES, name: damaged(draw, FILES[name])})
    return name


def damaged_zip(draw: random.Random, raw: Path) -> str:
    """Bytes of the zip file itself."""
    path = write_zip(raw, FILES)
    path.write_bytes(damaged(draw, path.read_bytes()))
    return "zip"


def missing_file(draw: random.Random, raw: Path) -> str:
    name = draw.choice(list(FILES))
    draw.choice([write_directory, write_zip])(raw, {key: data for key, data in FILES.items() if key != name})
    return name


def dangling_link(draw: random.Random, raw: Path) -> str:
    name = draw.choice(list(FILES))
    write_directory(raw, {key: data for key, data in FILES.items() if key != name})
    (raw / "us" / DAY / name).symlink_to(raw / "nowhere")
    return name


DAMAGES: tuple[Damage, ...] = (damaged_file, damaged_file, damaged_file, damaged_zip, damaged_zip, missing_file, dangling_link)  # fmt: skip


def check(draw: random.Random, raw: Path, words: ChunkTokenizer, sound: Read) -> bool:
    """One damaged day keeps its promises; whether something of it was lost."""
    where = draw.choice(DAMAGES)(draw, raw)
    found = read(raw, words)
    said = " ".join(f"{name} {reason}" for name, reason in found.losses.items())
    whole = any(re.fullmatch(rf"us/{DAY}(\.zip)?", name) for name in found.losses)
    for granule, text in sound.words.items():
        # Of a zip file the names themselves may be damaged: the loss then goes by the name that is there.
        told = whole or granule in said or (where == "zip" and bool(found.losses))
        assert told or granule in found.words, f"{granule} is lost in silence; {where}"
        if not whole and where != "zip" and granule not in where:
            assert found.words.get(granule) == text, f"{granule} is another, and the damage was to {where}"
    return bool(found.losses)


def mutate(tmp_path: Path, words: ChunkTokenizer, days: int) -> int:
    write_directory(tmp_path / "sound", FILES)
    sound = read(tmp_path / "sound", words)
    assert set(sound.words) == set(GRANULES)
    assert not sound.losses
    draw = random.Random(days)
    return sum(check(draw, tmp_path / f"{number}", words, sound) for number in range(days))


@pytest.mark.parametrize("days", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_damaged_day_loses_what_is_damaged_and_says_so(tmp_path: Path, words: ChunkTokenizer, days: int) -> None:
    assert mutate(tmp_path, words, days) > days / 3  # the damage is real


def as_shown(page: str) -> int:
    """Characters of a granule's text block, tags left out, by a reading that knows no HTML."""
    block = page[page.index("<pre>") + 5 : page.rindex("</pre>")]
    return len("".join(html.unescape(re.sub(r"</?(?:a|bullet|pre|INF)\b[^<>]*>", "", block)).split()))


@pytest.mark.parametrize("pages", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_flipped_byte_hides_no_words_of_a_granule(tmp_path: Path, words: ChunkTokenizer, pages: int) -> None:
    """A stray "<" takes the words after it for a tag; a letter may change, a sentence may not go."""
    draw, name, lost = random.Random(pages), f"{DAY}-pt1-PgH3001", 0
    for number in range(pages):
        page = bytearray(US_HOUSE.encode())
        page[draw.randrange(page.index(b"BRIDGES"), len(page) - 20)] = draw.choice(b"<>&/!\"'=")
        write_directory(tmp_path / str(number), {**FILES, f"html/{name}.htm": bytes(page)})
        found = read(tmp_path / str(number), words)
        lost += bool(found.losses)
        if not found.losses:
            there = len("".join(found.words[name])) + US_HOUSE.count("<bullet>")
            assert there >= as_shown(page.decode()) - 12, bytes(page)
    assert 0 < lost < pages / 2


def test_a_zip_cut_short_among_good_pages_is_named_and_the_rest_is_built(
    raw: Path, tmp_path: Path, words: ChunkTokenizer
) -> None:
    cut = write_zip(raw, FILES).rename(raw / "us" / "CREC-2024-05-15.zip")
    cut.write_bytes(cut.read_bytes()[:-40])
    params = conf_base(LargeFedBench, snapshot="a")
    facts = provenance(build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path / "out"))
    (bad,) = facts["bad_pages"]
    assert bad == {"page": "us/CREC-2024-05-15.zip", "reason": "BadZipFile: File is not a zip file"}
    assert facts["sources"]["us"]["clients"] == 2


def named(tmp_path: Path, words: ChunkTokenizer, files: dict[str, bytes]) -> dict[str, str]:
    write_directory(tmp_path, files)
    return read(tmp_path, words).losses


HOUSE = f"html/{DAY}-pt1-PgH3001.htm"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("mods.xml", b"<mods>", "XMLSyntaxError"),
        (HOUSE, gzip.compress(FILES[HOUSE])[:-9], "EOFError"),
        (HOUSE, FILES[HOUSE][:900], "cut off"),
        (HOUSE, FILES[HOUSE].replace(b"May 14, 2024", b"January 28, 1997"), "a page of 1997-01-28 in the package"),
        (HOUSE, FILES[HOUSE].replace(b"is old,", b"is <script>old,"), "characters are inside a tag"),
        (HOUSE, FILES[HOUSE].replace(b"is old,", b"<s old,"), "characters are inside a tag"),
    ],
)
def test_what_is_wrong_with_one_file_is_told_and_the_others_are_read(
    tmp_path: Path, words: ChunkTokenizer, name: str, data: bytes, reason: str
) -> None:
    losses = named(tmp_path, words, {**FILES, name: data})
    assert list(losses) == [f"us/{DAY}/{name}"]
    assert reason in losses[f"us/{DAY}/{name}"]
    assert set(read(tmp_path, words).words) >= GRANULES.keys() - {Path(name).stem}


def test_scripts_and_styles_inside_the_text_never_enter(tmp_path: Path, words: ChunkTokenizer) -> None:
    injected = b"<script>steal()</script><style>b {color: red}</style>is old,"
    write_directory(tmp_path, {**FILES, HOUSE: FILES[HOUSE].replace(b"is old,", injected)})
    found = read(tmp_path, words)
    assert not found.losses
    assert " ".join(found.words[f"{DAY}-pt1-PgH3001"]).count("is old,") == 1
    assert "steal" not in str(found.words)
    assert "color" not in str(found.words)


def test_granules_that_mods_lists_and_the_package_lacks_are_counted_and_named(
    raw: Path, tmp_path: Path, words: ChunkTokenizer
) -> None:
    write_directory(raw, FILES)
    (raw / "us" / DAY / f"html/{DAY}-pt1-PgS9.htm").unlink()
    facts = provenance(
        build_snapshot(conf_base(LargeFedBench, snapshot="a"), words, raw_dir=raw, out_dir=tmp_path / "o")
    )
    notes = facts["sources"]["us"]["notes"]
    assert (notes["granules_expected"], notes["granules_missing"]) == (3, 1)
    assert facts["bad_pages"] == [
        {
            "page": f"us/{DAY}/mods.xml",
            "reason": f"lists 3 parts, of which 1 are not there: {DAY}-pt1-PgS9",
        }
    ]


@pytest.mark.shared
def test_the_real_days_are_checked_against_their_mods(shared: Path, words: ChunkTokenizer) -> None:
    params = conf_base(LargeFedBench)
    pages = tuple(raw_pages(shared / "raw_pages", SOURCES["us"]))
    counts, losses = SourceCounts(), list[tuple[str, str]]()
    for _ in _turns(SOURCES["us"], ShardTask("us", "congress", pages, shared, params, words), counts, losses, {}):
        pass
    assert (counts.notes["granules_expected"], counts.notes["granules_missing"]) == (658, 652)
    assert [name for name, _ in losses] == [f"{page.name}/mods.xml" for page in pages]
