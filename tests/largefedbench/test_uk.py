from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.largefedbench.raw_pages import RawPage, RawPageError
from fedtext.largefedbench.sources import SOURCES, raw_pages, uk
from fedtext.largefedbench.sources.uk_chairs import Chairs
from fedtext.largefedbench.turns import Turn

from .pages import UK


def parse(tmp_path: Path, text: str = UK, name: str = "debates2024-07-30b.xml") -> list[Turn]:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return list(uk.parse(RawPage(f"uk/{name}", path)))


def test_speakers_kinds_and_titles(tmp_path: Path) -> None:
    turns = parse(tmp_path)
    assert [(t.kind, t.speaker) for t in turns] == [
        ("heading", ""),
        ("heading", ""),
        ("speech", "Tom Hall"),
        ("speech", "Mary Cole"),
        ("chair", "Lindsay Hoyle"),
        ("no_speaker", ""),
        ("chair", "Ann Ware"),
        ("division", ""),
    ]
    cole = turns[3]
    assert cole.client_id == "2024-07-30.uk.debate.1.3"
    assert cole.title == "Oral Answers - School Buses"
    assert cole.url == "https://www.theyworkforyou.com/debates/?id=2024-07-30b.1.3"
    assert (cole.speaker_id, cole.chamber, cole.country) == ("6", "House of Commons", "GB")
    assert [p.kind for p in cole.paragraphs] == ["spoken", "italic", "motion_text", "spoken"]


def test_only_the_last_revision_counts(raw: Path) -> None:
    pages = raw_pages(raw, SOURCES["uk"])
    assert [(page.name, page.superseded) for page in pages] == [
        ("uk/debates2024-07-30a.xml", True),
        ("uk/debates2024-07-30b.xml", False),
    ]
    old = list(uk.parse(pages[0]))
    assert {turn.kind for turn in old} == {"superseded_revision"}
    assert len(old) == len(list(uk.parse(pages[1])))


def test_a_page_that_says_it_is_not_the_latest_is_superseded(tmp_path: Path) -> None:
    assert {t.kind for t in parse(tmp_path, UK.replace('latest="yes"', 'latest="no"'))} == {"superseded_revision"}


def test_revision_letters_are_ordered_by_length_too() -> None:
    pages = [RawPage(f"uk/debates2024-07-30{letter}.xml", Path()) for letter in ("a", "z", "aa")]
    assert [page.superseded for page in uk.mark_superseded(pages)] == [True, True, False]


def test_the_id_does_not_depend_on_the_revision(tmp_path: Path) -> None:
    later = parse(tmp_path, UK.replace("2024-07-30b", "2024-07-30c"), "debates2024-07-30c.xml")
    assert [t.client_id for t in later] == [t.client_id for t in parse(tmp_path)]


def test_a_repeated_id_loses_no_turn(tmp_path: Path) -> None:
    ids = [t.client_id for t in parse(tmp_path, UK.replace(".1.3", ".1.2"))]
    assert len(ids) == len(set(ids)) == 8


def test_a_file_of_another_name_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RawPageError, match="not named"):
        parse(tmp_path, name="whatever.xml")


@pytest.mark.parametrize(
    ("date", "speaker", "chair"),
    [
        ("2024-07-30", "Lindsay Hoyle", True),
        ("2024-07-30", "Sir Lindsay Hoyle", True),
        ("2024-07-30", "Nusrat Ghani", True),
        ("2023-07-30", "Nusrat Ghani", False),
        ("2024-07-30", "Eleanor Laing", False),
        ("2023-07-30", "Dame Eleanor Laing", True),
        ("2023-05-10", "Sir Roger Gale", True),
        ("2022-12-18", "Roger Gale", False),
        ("2024-07-30", "Roger Gale", False),
        ("2024-07-30", "Madam Deputy Speaker", True),
        ("2024-07-30", "Several hon. Members", True),
        ("2024-07-30", "Alistair Carmichael", False),
        ("2024-07-30", "The Lord Speaker", True),
    ],
)
def test_who_is_in_the_chair(date: str, speaker: str, chair: bool) -> None:
    assert Chairs(date).has(speaker) is chair


def test_a_notice_moves_the_chair() -> None:
    chairs = Chairs("2024-07-30")
    assert not chairs.has("Ann Ware")
    chairs.notice("[Dame Ann Ware in the Chair]")
    assert chairs.has("Dame Ann Ware")
    chairs.notice("[Mr Ray Moor in the Chair]")
    assert chairs.has("Ray Moor")
    assert not chairs.has("Ann Ware")
