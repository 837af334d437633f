"""Raw pages for measuring LargeFedBench builds: the real ones, repeated with other dates and other words."""

from __future__ import annotations

import json
import random
import re
from datetime import date, timedelta
from pathlib import Path

FIRST_DAY = date(2010, 1, 1)
ABSTRACTS_A_PAGE = 100
ABSTRACTS_A_DAY = 200
SWAPPED_WORDS = [
    "people",
    "country",
    "nation",
    "children",
    "families",
    "members",
    "amendment",
    "support",
    "American",
    "Canadian",
    "government",
    "program",
    "security",
    "billion",
    "million",
    "workers",
    "important",
    "example",
    "system",
    "policy",
    "problem",
    "question",
    "energy",
    "health",
    "money",
    "future",
    "world",
    "water",
]
SWAPS_A_COPY = 12


def make_raw(shared: Path, root: Path, copies: int, abstracts: int) -> Path:
    """Write `copies` of the real sittings and days, each with its own dates and words, and `abstracts` preprints."""
    for copy in range(copies):
        draw = random.Random(copy)
        pairs = list(
            zip(draw.sample(SWAPPED_WORDS, SWAPS_A_COPY), draw.sample(SWAPPED_WORDS, SWAPS_A_COPY), strict=True)
        )
        _copy_canada(shared / "congress/ca", root / "ca", copy, pairs)
        _copy_us(shared / "congress/us/CREC-2005-07-20", root / "us", copy, pairs)
    _copy_abstracts(shared / "abstracts", root / "biorxiv", abstracts)
    return root


def _swapped(data: bytes, pairs: list[tuple[str, str]]) -> bytes:
    for old, new in pairs:
        data = data.replace(f" {old} ".encode(), f" {new} ".encode())
    return data


def _copy_canada(source: Path, target: Path, copy: int, pairs: list[tuple[str, str]]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(sorted(source.glob("*.xml"))):
        day = FIRST_DAY + timedelta(days=2 * copy + number)
        data = _swapped(path.read_bytes(), pairs)
        for name, value in (("Day", day.day), ("Month", day.month), ("Year", day.year)):
            data = re.sub(rf'("MetaDateNum{name}">)\d+'.encode(), rf"\g<1>{value:02d}".encode(), data)
        (target / f"{day}.xml").write_bytes(data)


def _copy_us(source: Path, target: Path, copy: int, pairs: list[tuple[str, str]]) -> None:
    day = FIRST_DAY + timedelta(days=copy)
    old, new, head = source.name, f"CREC-{day}", f"({day:%A, %B} {day.day}, {day.year})"
    package = target / new
    (package / "html").mkdir(parents=True, exist_ok=True)
    (package / "mods.xml").write_bytes((source / "mods.xml").read_bytes().replace(old.encode(), new.encode()))
    for path in source.glob("html/*.htm"):
        dated = path.read_bytes().replace(b"(Wednesday, July 20, 2005)", head.encode())
        (package / "html" / path.name.replace(old, new)).write_bytes(_swapped(dated, pairs))


def _copy_abstracts(source: Path, target: Path, number: int) -> None:
    target.mkdir(parents=True, exist_ok=True)
    rows = [
        json.loads(line) for path in sorted(source.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    for page in range(0, number, ABSTRACTS_A_PAGE):
        collection = []
        for place in range(page, min(page + ABSTRACTS_A_PAGE, number)):
            row, draw = rows[place % len(rows)], random.Random(place)
            text = row["abstract"].replace(f" {draw.choice(SWAPPED_WORDS)} ", f" {draw.choice(SWAPPED_WORDS)} ")
            day = FIRST_DAY + timedelta(days=place // ABSTRACTS_A_DAY)
            collection.append({
                "doi": f"10.1101/{place}", "title": row["title"], "date": str(day), "version": "1", "type": "new results",
                "license": "cc_by", "category": "none", "abstract": f"{text} Study {place}.", "server": "biorxiv",
            })  # fmt: skip
        value = {"messages": [{"status": "ok"}], "collection": collection}
        (target / f"{page:06d}.json").write_text(json.dumps(value), "utf-8")
