"""Files that are no pages: devices, pipes, links, names and sizes. None hangs a build, and none is without a name."""

from __future__ import annotations

import gzip
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fedtext.largefedbench.shards import _digest
from fedtext.largefedbench.sources import SOURCES, raw_pages
from fedtext.largefedbench.tokens import ChunkTokenizer

from .pages import CANADA, PREPRINTS, PUBMED, UK, US_DATE, US_HOUSE, US_MODS, preprint_page
from .test_counted_and_named import read, write

SECONDS_A_FILE = 10
GOOD = {
    "ca": ("HAN.xml", CANADA.encode()),
    "uk": ("debates2024-07-30b.xml", UK.encode()),
    "biorxiv": ("good.json", preprint_page(PREPRINTS)),
    "pubmed": ("good.xml", PUBMED.encode()),
}
Odd = Callable[[Path], None]


def linked_to(target: str) -> Odd:
    return lambda path: path.symlink_to(target)


def loop(path: Path) -> None:
    path.symlink_to(path)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(300 * 2**20)


def bomb(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(280):
            file.write(bytes(2**20))


def holds(data: bytes) -> Odd:
    return lambda path: path.write_bytes(data) and None


ODD: dict[str, Odd] = {
    "an endless device": linked_to("/dev/zero"),
    "an empty device": linked_to("/dev/null"),
    "a terminal": linked_to("/dev/tty"),
    "a link to nowhere": linked_to("nowhere"),
    "a link to itself": loop,
    "a link to a folder": linked_to("/tmp"),
    "a pipe": pipe,
    "a file of 300 MB": sparse,
    "a bomb": bomb,
    "no byte": holds(b""),
    "one byte": holds(b"<"),
    "NULs": holds(bytes(4096)),
    "deep XML": holds(b"<a>" * 100_000),
    "deep JSON": holds(b"[" * 1_000_000),
    "one word of 5 MB": holds(b"x" * 5_000_000),
}
NAMES = ["odd", "o d'd", "ödd", "o" * 200, "o\ndd", "-rf", "a.b.c", "%s", os.fsdecode(b"\xff\xfe")]


def check(root: Path, source: str, kind: str, name: str, words: ChunkTokenizer) -> None:
    """One odd file beside a good page: it is named, in time, and the good page is read."""
    good, data = GOOD[source]
    write(root / source / good, data)
    path = root / source / f"{name}{Path(good).suffix}"
    ODD[kind](path)
    started = time.process_time()
    for page in raw_pages(root, SOURCES[source]):
        _digest(page)
    found = read(root, source, words)
    took = time.process_time() - started
    assert took < SECONDS_A_FILE, f"{kind} takes {took:.0f} s"
    assert found.clients, f"{kind} costs the good page"
    assert len(found.losses) == 1, f"{kind} named {name!r} of {source} is lost in silence: {found.losses}"


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_file_is_named_in_time(tmp_path: Path, words: ChunkTokenizer, kind: str) -> None:
    draw = random.Random(kind)
    check(tmp_path, draw.choice(list(GOOD)), kind, draw.choice(NAMES), words)


@pytest.mark.slow
def test_every_odd_file_under_every_name(tmp_path: Path, words: ChunkTokenizer) -> None:
    for number, (kind, name, source) in enumerate((k, n, s) for k in ODD for n in NAMES for s in GOOD):
        check(tmp_path / str(number), source, kind, name, words)


@pytest.mark.parametrize("kind", [kind for kind in ODD if kind != "a link to a folder"])
def test_an_odd_granule_is_named_in_time(tmp_path: Path, words: ChunkTokenizer, kind: str) -> None:
    day = tmp_path / f"us/CREC-{US_DATE}"
    write(day / "mods.xml", US_MODS)
    write(day / f"html/CREC-{US_DATE}-pt1-PgH3001.htm", US_HOUSE)
    ODD[kind](day / f"html/CREC-{US_DATE}-pt1-PgH9.htm")
    started = time.process_time()
    for page in raw_pages(tmp_path, SOURCES["us"]):
        _digest(page)
    found = read(tmp_path, "us", words)
    assert time.process_time() - started < SECONDS_A_FILE
    assert found.clients
    assert f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH9.htm" in found.losses
