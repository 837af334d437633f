"""Pages under odd names, in the wrong place, of impossible days, or of nothing: read, or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.raw_pages import RawPage, possible_date
from fedtext.largefedbench.snapshot import provenance
from fedtext.largefedbench.sources import SOURCES, biorxiv, canada, raw_pages, uk, us
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base
from tests.refusals import refuses

from .pages import CANADA, UK, preprint, preprint_page


def page(root: Path, name: str, data: bytes) -> RawPage:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(data)
    return RawPage(name, root / name)


def names(root: Path, source: str) -> list[str]:
    return [one.name for one in raw_pages(root, SOURCES[source])]


def test_the_extension_may_be_in_capitals(tmp_path: Path) -> None:
    page(tmp_path, "ca/HAN303-E.XML", CANADA.encode())
    day = page(tmp_path, "uk/debates2024-07-30b.XML", UK.encode())
    assert names(tmp_path, "ca") == ["ca/HAN303-E.XML"]
    assert names(tmp_path, "uk") == ["uk/debates2024-07-30b.XML"]
    assert list(uk.parse(day))


def test_a_link_to_nowhere_and_an_empty_page_are_named(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    (raw / "ca" / "gone.xml").symlink_to(tmp_path / "nowhere")
    (raw / "pubmed" / "nothing.xml").write_bytes(b"<PubmedArticleSet/>")
    params = conf_base(LargeFedBench, snapshot="a")
    facts = provenance(build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path / "out"))
    reasons = {bad["page"]: bad["reason"] for bad in facts["bad_pages"]}
    assert set(reasons) == {"ca/gone.xml", "pubmed/nothing.xml"}
    assert reasons["ca/gone.xml"].startswith("FileNotFoundError")
    assert "no text, no row" in reasons["pubmed/nothing.xml"]


@pytest.mark.parametrize("year", [1, 1773, 2101, 9999])
def test_impossible_years_are_refused(tmp_path: Path, year: int) -> None:
    with refuses("impossible-date", value=f"{year:04d}-05-09"):
        possible_date(year, 5, 9)
    sitting = page(tmp_path, "ca/a.xml", CANADA.replace(">2024<", f">{year}<").encode())
    with refuses("impossible-date"):
        list(canada.parse(sitting))
    rows = page(tmp_path, "biorxiv/0.json", preprint_page([preprint("1", date=f"{year:04d}-05-09"), preprint("2")]))
    assert [turn.kind for turn in biorxiv.parse(rows)] == ["malformed_row", "speech"]
    with refuses("impossible-date", value=f"{year:04d}-05-09"):
        list(us.parse(RawPage(f"us/CREC-{year:04d}-05-09", tmp_path)))


def test_a_uk_day_in_another_days_file_is_refused(tmp_path: Path) -> None:
    with refuses("uk-day-differs"):
        list(uk.parse(page(tmp_path, "uk/debates2023-07-30b.xml", UK.encode())))
    one_wrong = UK.replace("debate/2024-07-30b.1.2", "debate/1997-07-30b.1.2")
    assert one_wrong != UK
    assert list(uk.parse(page(tmp_path, "uk/debates2024-07-30b.xml", one_wrong.encode())))
