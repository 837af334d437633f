"""Fuzzed pages: no crash without a named error, and nothing that was read is lost without being counted."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.clients import clients_of
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.raw_pages import Completeness, RawPage, RawPageError
from fedtext.largefedbench.snapshot import provenance, read_table
from fedtext.largefedbench.sources import SOURCES
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.largefedbench.turns import Retraction, Turn, Unknown
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base

from .fuzz import damaged
from .pages import (
    CANADA,
    OPENREVIEW,
    PREPRINTS,
    PUBMED,
    SCITLDR,
    UK,
    US_DATE,
    US_EXTENSIONS,
    US_HOUSE,
    US_MODS,
    preprint_page,
)

PAGES: dict[str, tuple[str, bytes]] = {
    "ca": ("HAN.xml", CANADA.encode()),
    "uk": ("debates2024-07-30b.xml", UK.encode()),
    "biorxiv": ("0.json", preprint_page(PREPRINTS)),
    "pubmed": ("0.xml", PUBMED.encode()),
    "openreview": ("0.json", json.dumps(OPENREVIEW).encode()),
    "scitldr": ("0.jsonl", SCITLDR.encode()),
    "us": ("", US_HOUSE.encode()),
    "us mods": ("", US_MODS.encode()),
}
CLEAN, PUBLISHED = conf_base(LargeFedBench), conf_base(LargeFedBench, cleaning="published")


def write(root: Path, kind: str, data: bytes) -> RawPage:
    """The damaged page where its source expects it; a US page inside an otherwise sound package."""
    if not kind.startswith("us"):
        (root / PAGES[kind][0]).write_bytes(data)
        return RawPage(f"{kind}/{PAGES[kind][0]}", root / PAGES[kind][0])
    package = root / f"CREC-{US_DATE}"
    (package / "html").mkdir(parents=True, exist_ok=True)
    (package / "html" / f"CREC-{US_DATE}-pt1-PgE77.htm").write_bytes(US_EXTENSIONS.encode())
    mods = kind == "us mods"
    (package / "mods.xml").write_bytes(data if mods else US_MODS.encode())
    (package / "html" / f"CREC-{US_DATE}-pt1-PgH3001.htm").write_bytes(US_HOUSE.encode() if mods else data)
    return RawPage(f"us/{package.name}", package)


def check(page: RawPage, kind: str) -> str:
    """Read and clean one page under both readings; returns what became of it."""
    source = kind.split()[0]
    turns, errors = list[Turn](), list[RawPageError]()
    try:
        for item in SOURCES[source].parse(page):
            if isinstance(item, Turn):
                turns.append(item)
            elif isinstance(item, Unknown):
                assert item.name
            elif isinstance(item, Retraction):
                assert item.address.startswith("https://")
            elif error := item.error() if isinstance(item, Completeness) else item:
                errors.append(error)
    except RawPageError as error:
        errors.append(error)
    for error in errors:
        assert error.name.startswith(page.name)
        assert error.reason
    for params in (CLEAN, PUBLISHED):
        counts = SourceCounts()
        clients = list(clients_of(turns, params, counts))
        assert counts.turns == len(turns) == len(clients) + sum(n for n, _ in counts.left_out.values())
        gone = sum(words for _, words in (*counts.left_out.values(), *counts.removed.values()))
        glued = sum(
            times for times, _ in counts.removed.values()
        )  # a mark inside a word makes two of it, or one of two
        assert abs(counts.words - counts.words_kept - gone) <= glued
        for client in clients:
            assert client.text.strip()
            "".join(client).encode()
    return "error" if errors else "read"


def fuzz(root: Path, pages: int, seed: int) -> dict[str, int]:
    draw = random.Random(seed)
    outcomes = {"error": 0, "read": 0}
    for number in range(pages):
        kind = draw.choice(list(PAGES))
        data = damaged(draw, PAGES[kind][1])
        started = time.process_time()
        try:
            outcomes[check(write(root, kind, data), kind)] += 1
        except Exception as fault:
            raise AssertionError(f"page {number} of seed {seed} ({kind}): {data[:300]!r}") from fault
        assert time.process_time() - started < 5, f"page {number} of seed {seed} ({kind}) is slow"
    return outcomes


@pytest.mark.parametrize("pages", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_fuzzed_pages(tmp_path: Path, pages: int) -> None:
    outcomes = fuzz(tmp_path, pages, seed=pages)
    assert outcomes["error"] > pages / 10  # the damage is real
    assert outcomes["read"] > pages / 10  # and not every page is beyond reading


def test_the_pages_are_sound_before_they_are_damaged(tmp_path: Path) -> None:
    assert {kind: check(write(tmp_path, kind, data), kind) for kind, (_, data) in PAGES.items()} == dict.fromkeys(
        PAGES, "read"
    )


def test_a_build_survives_fuzzed_pages_and_lists_them(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    draw = random.Random(11)
    for number in range(60):
        for kind, name in (("ca", "f{}.xml"), ("biorxiv", "f{}.json"), ("pubmed", "f{}.xml"), ("scitldr", "f{}.jsonl")):
            (raw / kind / name.format(number)).write_bytes(damaged(draw, PAGES[kind][1]))
    snapshot = build_snapshot(conf_base(LargeFedBench, snapshot="fuzzed"), words, raw_dir=raw, out_dir=tmp_path / "out")
    facts = provenance(snapshot)
    assert len(facts["bad_pages"]) > 20
    listed = {name: counts["notes"].get("bad_pages", 0) for name, counts in facts["sources"].items()}
    assert sum(listed.values()) == len(facts["bad_pages"])
    ids = read_table(snapshot, "congress", "clients").to_pandas()["client_id"]
    assert ids.is_unique
    for counts in facts["sources"].values():
        left_out = sum(rule["turns"] for rule in counts["left_out"].values())
        assert counts["turns"] == counts["clients"] + left_out
