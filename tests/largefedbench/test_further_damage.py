"""Further inputs for publishers' markup and for damage: ten and more of each, none seen before."""

from __future__ import annotations

import gzip
import json
import os
import socket
import struct
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.cleaning.abstracts import clean_abstract, unknown_markup
from fedtext.largefedbench.snapshot import MANIFEST, provenance, verify
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench
from fedtext.system.errors import FedtextError
from tests.parameters import conf_base

from .pages import CANADA, PREPRINTS, UK, US_DATE, US_HOUSE, US_MODS, preprint, preprint_page
from .test_counted_and_named import read, review, reviews, write
from .test_further_speakers import OPENING, us_day

# --- markup


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<jats:title>Background</jats:title><jats:p>We row.</jats:p>", "We row."),
        ("CO<jats:sub>2</jats:sub> rose by 10<jats:sup>3</jats:sup> ppm", "CO2 rose by 10³ ppm"),
        ("A {permil} and {Delta}F508 at 37{degrees}C", "A ‰ and ΔF508 at 37°C"),
        ("mice {superscript -/-} died", "mice -/- died"),
        ("x &lt; y &amp;lt; z", "x < y < z"),
        ("BACKGROUND: Boats sail. RESULTS: Few.", "BACKGROUND: Boats sail. RESULTS: Few."),
        ("Significance StatementBoats matter. AbstractWe row.", "Boats matter. We row."),
        ("Key PointsO_LIBoats sail.C_LI O_LIThey sink.C_LI", "Boats sail. They sink."),
        ("{mu}m and {micro}M and {Omega}", "μm and µM and Ω"),
        ("O_TEXTBOXBox 1 C_TEXTBOXWe row.", "Box 1 We row."),
        (
            "ObjectiveTo count. MethodsWe counted. ResultsFew. ConclusionsFew boats.",
            "To count. We counted. Few. Few boats.",
        ),
        ("IL-1{beta} of 5 {+/-} 2, p{lt}0.05", "IL-1β of 5 ± 2, p<0.05"),
        ("the {gamma}{delta} cells and {lambda} phage", "the γδ cells and λ phage"),
        ("10{superscript -3} mol L{superscript -1}", "10⁻³ mol L-1"),
        ("Trial Registration: NCT1. FundingThe Crown.", "Trial Registration: NCT1. The Crown."),
    ],
)
def test_markup_of_other_publishers(text: str, left: str) -> None:
    assert clean_abstract([text], "medrxiv").text == left


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("{inverted question}", "Boats {inverted question} sail."),
        ("{zeugma}", "n {zeugma} 3"),
        ("\\alpha", "the \\alpha cells"),
        ("$\\beta$", "the $\\beta$ cells"),
        ("<mml:math>", "where <mml:math>x</mml:math> is"),
        ("<inline-graphic>", "the <inline-graphic> shows"),
        ("O_NEWCODE", "We row. O_NEWCODEThey sail."),
        ("org.newwire.dtl", "We row. org.newwire.dtl sail."),
        ("&zork;", "n &zork; 3"),
        ("[agr]", "the [agr] chain"),
        ("<tex-math>", "<tex-math>x^2</tex-math>"),
        ("{{curly}}", "a {{curly}} b"),
    ],
)  # fmt: skip
def test_markup_that_nobody_knows_is_named(mark: str, text: str) -> None:
    named = unknown_markup(clean_abstract([text], "biorxiv").text, "biorxiv")
    assert any(name in mark or mark in name for name in named), named


@pytest.mark.parametrize(
    "text", ["a set {x, y} of f(x)", "if 3 < x and y > 2", "p<0.05 and q>0.1", "cost $5 to $10", "R&D; AT&T"]
)
def test_what_is_no_markup_stays(text: str) -> None:
    assert clean_abstract([text], "biorxiv").text == text


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("It cost <pound>40 million.", "It cost £40 million."),
        ("It cost 99<cent>.", "It cost 99¢."),
        ("It was 40<degrees> below.", "It was 40° below."),
        ("The error is <plus-minus>3 points.", "The error is ±3 points."),
        ("Brand<Register> and Other<Copyright> are names.", "Brand® and Other© are names."),
        ("It is 1<half> miles.", "It is 1½ miles."),
        ("Area 10<SUP>2</SUP> and CO<INF>2</INF> count.", "Area 10² and CO2 count."),
    ],
)
def test_the_signs_of_the_us_record(tmp_path: Path, words: ChunkTokenizer, said: str, text: str) -> None:
    found = us_day(tmp_path, words, f"{OPENING} {said}", A1="Mr. ALDER")
    assert found.clients[0].text == f"The pier fell in March. {text}"


@pytest.mark.parametrize("sign", ["zork", "greek-q", "l-arrow", "box-drawing"])
def test_a_sign_of_the_us_record_that_nobody_knows_is_named(tmp_path: Path, words: ChunkTokenizer, sign: str) -> None:
    found = us_day(tmp_path, words, f"{OPENING} It cost <{sign}>40 million.", A1="Mr. ALDER")
    assert found.counts.unknown["markup"] == {f"<{sign}>": 1}
    assert f"<{sign}>40 million" in found.clients[0].text


# --- damage


def fifo(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def zero(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/dev/zero")


def nowhere(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("nowhere")


def folder(path: Path) -> None:
    path.mkdir(parents=True)


@pytest.fixture
def in_time() -> Iterator[None]:
    started = time.process_time()
    yield
    assert time.process_time() - started < 10  # of the processor: others may use the machine


def told(raw: Path, out: Path, words: ChunkTokenizer, **changes: object) -> str:
    """What a build tells of its pages, in a thread that cannot hang this test."""
    said = list[str]()

    def build() -> None:
        try:
            params = conf_base(LargeFedBench, snapshot="a", raw_dir=str(raw), **changes)
            said.append(json.dumps(provenance(build_snapshot(params, words, raw_dir=raw, out_dir=out))["bad_pages"]))
        except FedtextError as refusal:
            said.append(f"REFUSED {refusal}")

    thread = threading.Thread(target=build, daemon=True)
    thread.start()
    thread.join(60)
    assert said, "it hangs, or ends in a traceback"
    return said[0]


@pytest.mark.parametrize("odd", [fifo, zero, nowhere, folder])
@pytest.mark.parametrize(
    "name",
    [
        "biorxiv/w/_done.json",
        "biorxiv/w/p.json",
        "ca/HAN1.xml",
        f"us/CREC-{US_DATE}/mods.xml",
        "us/CREC-2024-05-20.zip",
    ],
)
def test_no_file_in_place_of_one(
    raw: Path, tmp_path: Path, words: ChunkTokenizer, odd: Callable[[Path], None], name: str
) -> None:
    (raw / name).unlink(missing_ok=True)
    odd(raw / name)
    write(raw / "biorxiv/w/good.json", preprint_page([preprint("10.1101/9")]))
    said = told(raw, tmp_path, words)
    plain_folder = odd is folder and name in ("biorxiv/w/p.json", "ca/HAN1.xml")
    assert name in said or plain_folder


@pytest.mark.parametrize("odd", [fifo, zero, nowhere, folder])
def test_a_list_of_requests_that_is_no_file_stops_a_build(
    raw: Path, tmp_path: Path, words: ChunkTokenizer, odd: Callable[[Path], None]
) -> None:
    odd(raw / "takedown.txt")
    assert told(raw, tmp_path, words).startswith("REFUSED")


@pytest.mark.parametrize("data", [b"\xff\xfes\x00", b"id: \x00\xff\n", b"x" * 3_000_000])
def test_a_list_of_requests_that_is_damaged_stops_a_build(
    raw: Path, tmp_path: Path, words: ChunkTokenizer, data: bytes
) -> None:
    (raw / "takedown.txt").write_bytes(data)
    said = told(raw, tmp_path, words)
    assert said.startswith("REFUSED")
    assert len(said) < 1000


DEEP = 100_000


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("biorxiv/p.json", b'{"messages": [{"status": "ok", "count": 1}], "collection": ' + b"[" * DEEP),
        ("biorxiv/p.json", json.dumps({"messages": [{"status": "ok"}], "collection": 7}).encode()),
        ("biorxiv/p.json", gzip.compress(gzip.compress(preprint_page(PREPRINTS)))),
        ("biorxiv/p.json", gzip.compress(preprint_page(PREPRINTS))[:-9]),
        ("ca/a.xml", b"<Hansard>" + b"<HansardBody>" * DEEP),
        ("ca/a.xml", CANADA.replace("<Content>", "<Content>" + "<I>" * 300, 1).encode()),
        ("ca/a.xml", CANADA.replace('encoding="UTF-8"', 'encoding="klingon"').encode()),
        ("uk/debates2024-07-30b.xml", UK.replace("&#163;", "x" * 100).encode()),
        ("uk/debates2024-07-30b.xml", UK.replace("<publicwhip", "<publicwhip>" * 2).encode()),
        ("openreview/p.json", json.dumps({"notes": {"a": 1}}).encode()),
        ("openreview/p.json", b'{"notes": [' + b'{"details": ' * DEEP),
        ("pubmed/p.xml", b"<PubmedArticleSet>" + b"<PubmedArticle>" * DEEP),
        ("pubmed/p.xml", b'<!DOCTYPE x SYSTEM "http://localhost:1/x.dtd"><x>&a;</x>'),
        ("scitldr/p.jsonl", b"\x1f\x8b\x00"),
        (f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH9.htm", b"<pre>" * DEEP),
        (f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH9.htm", b"<html><pre>\n" + b"<!--" * DEEP + b"</pre>"),
        (f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH9.htm", b"</pre>" * DEEP + b"<pre>" * DEEP),
        (f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH9.htm", b"<pre>" + b"<script>" * DEEP),
        (f"us/CREC-{US_DATE}/mods.xml", b"<mods>" * DEEP),
        ("us/CREC-2024-02-30.zip", b"PK\x05\x06" + bytes(18)),
        ("us/CREC-2024-05-21.zip", b"PK\x03\x04" + b"\xff" * 60),
    ],
)
def test_nested_and_broken_files_are_named_in_time(
    tmp_path: Path, words: ChunkTokenizer, name: str, data: bytes, in_time: None
) -> None:
    if name.startswith(f"us/CREC-{US_DATE}"):
        write(tmp_path / f"us/CREC-{US_DATE}/mods.xml", US_MODS)
        write(tmp_path / f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH3001.htm", US_HOUSE)
    write(tmp_path / name, data)
    assert name in read(tmp_path, name.partition("/")[0], words).losses


def encrypted(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mods.xml", US_MODS)
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.find(mark)
        data[start + at : start + at + 2] = struct.pack("<H", 1)
    path.write_bytes(data)


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(f"html/CREC-{US_DATE}-pt1-PgH1.htm", bytes(300 * 2**20))


def escaping(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../html/evil.htm", US_HOUSE)
        archive.writestr("/etc/passwd", "x")


def within(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inner.zip", b"PK\x05\x06" + bytes(18))


@pytest.mark.parametrize("odd", [encrypted, bomb, escaping, within])
def test_odd_packages_are_named_in_time(
    tmp_path: Path, words: ChunkTokenizer, odd: Callable[[Path], None], in_time: None
) -> None:
    path = tmp_path / f"us/CREC-{US_DATE}.zip"
    path.parent.mkdir()
    odd(path)
    found = read(tmp_path, "us", words)
    assert not found.clients
    assert any(name.startswith(f"us/CREC-{US_DATE}.zip") for name in found.losses)


def test_repeated_ids_of_every_source_take_linear_time(tmp_path: Path, words: ChunkTokenizer, in_time: None) -> None:
    rows = [preprint("10.1101/1") | {"abstract": f"We row {number} boats."} for number in range(8000)]
    write(tmp_path / "biorxiv/p.json", preprint_page(rows))
    assert len(read(tmp_path, "biorxiv", words).clients) == 8000
    found = reviews(tmp_path, words, *[review({"summary": f"A {number}."}) for number in range(8000)])
    assert len(found.clients) == 8000


@pytest.mark.parametrize("odd", [fifo, zero, nowhere, folder])
@pytest.mark.parametrize("name", [MANIFEST, "README.md", "provenance.json", "strange"])
def test_a_snapshot_with_no_file_in_place_of_one(
    raw: Path, tmp_path: Path, words: ChunkTokenizer, odd: Callable[[Path], None], name: str
) -> None:
    root = build_snapshot(conf_base(LargeFedBench, snapshot="a"), words, raw_dir=raw, out_dir=tmp_path / "o")
    (root / name).unlink(missing_ok=True)
    odd(root / name)
    if odd is folder and name == "strange":
        verify(root)  # an empty folder is nothing
        return
    said = list[str]()

    def check() -> None:
        try:
            verify(root)
        except FedtextError as refusal:
            said.append(str(refusal))

    thread = threading.Thread(target=check, daemon=True)
    thread.start()
    thread.join(60)
    assert said
    assert name in said[0]


@pytest.mark.parametrize(
    "line", ["a\\..\\b", "./README.md", "congress/../README.md", "", "README.md ", "README.md\x00"]
)
def test_lines_of_a_manifest(raw: Path, tmp_path: Path, words: ChunkTokenizer, line: str) -> None:
    root = build_snapshot(conf_base(LargeFedBench, snapshot="a"), words, raw_dir=raw, out_dir=tmp_path / "o")
    with (root / MANIFEST).open("a") as file:
        file.write(f"{'0' * 64}  {line}\n")
    with pytest.raises(FedtextError):
        verify(root)


def test_a_socket_is_no_page(raw: Path, tmp_path: Path, words: ChunkTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(raw / "biorxiv")  # a socket's path may have 107 bytes
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("s.json")
        assert "biorxiv/s.json" in told(raw, tmp_path, words)
