from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.largefedbench.raw_pages import RawPage, SkippedPageError
from fedtext.largefedbench.sources import canada
from fedtext.largefedbench.sources.canada import bare_name, mark_motion, turn_kind
from fedtext.largefedbench.turns import Paragraph, Turn
from tests.refusals import refuses

from .pages import CANADA


def parse(tmp_path: Path, text: str = CANADA) -> list[Turn]:
    path = tmp_path / "HAN.xml"
    path.write_text(text, "utf-8")
    return [item for item in canada.parse(RawPage("ca/HAN.xml", path)) if isinstance(item, Turn)]


def spoken(turn: Turn) -> list[str]:
    return [p.text for p in turn.paragraphs if p.kind == "spoken"]


def test_speakers_and_their_kinds(tmp_path: Path) -> None:
    turns = [t for t in parse(tmp_path) if ".unspoken." not in t.client_id]
    assert [(t.client_id, t.kind, t.speaker) for t in turns] == [
        ("2024-05-09.ca.100", "speech", "Hon. Anne Roy"),
        ("2024-05-09.ca.101", "chair", "The Speaker"),
        ("2024-05-09.ca.101.2", "collective", "Some hon. members"),
        ("2024-05-09.ca.102", "speech", "Mr. Paul Lee"),
        ("2024-05-09.ca.102.2", "collective", "An hon. member"),
        ("2024-05-09.ca.102.3", "chair", "The Speaker"),
    ]
    assert turns[0].speaker_id == "7"
    assert turns[0].title == "River Ferries Act"
    assert turns[0].url == "https://www.ourcommons.ca/Content/House/441/Debates/096/HAN096-E.XML"


def test_a_label_naming_the_same_speaker_goes_on_with_the_speech(tmp_path: Path) -> None:
    (turn,) = [t for t in parse(tmp_path) if t.client_id == "2024-05-09.ca.102"]
    assert spoken(turn) == [
        "Madam Speaker, the member knows the ferries are late.",
        "They are late every day, and I asked why. No.",
    ]
    assert turn.labelled


def test_the_motion_before_she_said_is_not_spoken(tmp_path: Path) -> None:
    turn = next(t for t in parse(tmp_path) if t.client_id == "2024-05-09.ca.100")
    assert spoken(turn)[0] == "Mr. Speaker, ferries carry us across the river every morning."
    assert [p.kind for p in turn.paragraphs][:3] == ["motion_text", "procedural_text", "motion_text"]


def test_floor_language_says_when_the_text_is_a_translation(tmp_path: Path) -> None:
    languages = {t.client_id: t.floor_language for t in parse(tmp_path) if t.kind in {"speech", "chair"}}
    assert languages["2024-05-09.ca.100"] == "mixed"
    assert languages["2024-05-09.ca.102"] == "en"
    french = parse(tmp_path, CANADA.replace('language="EN"', 'language="FR"'))
    assert {t.floor_language for t in french if t.kind == "speech"} == {"fr"}


def test_every_word_of_the_body_is_in_some_turn(tmp_path: Path) -> None:
    from lxml import etree

    turns = parse(tmp_path)
    body = etree.fromstring(CANADA.encode()).find("HansardBody")
    speakers = "".join("".join(person.itertext()) for person in body.iter("PersonSpeaking"))
    labels = "".join("".join(bold.itertext()) for bold in body.iter("B")) + ":"  # one colon stands outside its label
    whole = len("".join("".join(body.itertext()).split()))
    outside = len("".join(f"{speakers}{labels}".split()))
    assert sum(len("".join(p.text.split())) for t in turns for p in t.paragraphs) == whole - outside


def test_a_repeated_intervention_id_loses_no_turn(tmp_path: Path) -> None:
    turns = parse(tmp_path, CANADA.replace('id="102"', 'id="100"'))
    ids = [t.client_id for t in turns]
    assert len(set(ids)) == len(ids)
    assert "2024-05-09.ca.100.copy2" in ids


def test_text_in_unknown_elements_is_counted(tmp_path: Path) -> None:
    turns = parse(tmp_path, CANADA.replace("</Intro>", "</Intro><Novelty>brand new words</Novelty>"))
    assert [t.paragraphs[0].text for t in turns if t.kind == "unknown_element"] == ["brand new words"]


def test_a_said_inside_an_ordinary_speech_marks_nothing() -> None:
    paragraphs = [Paragraph("I met the minister."), Paragraph("He said: wait.")]
    assert mark_motion(paragraphs) == paragraphs


def test_a_motion_without_said_ends_at_the_vocative() -> None:
    marked = mark_motion([Paragraph("moved:"), Paragraph("That the House sit."), Paragraph("Mr. Speaker, I rise.")])
    assert [p.kind for p in marked] == ["motion_text", "motion_text", "spoken"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("The Assistant Deputy Speaker", "chair"),
        ("The Deputy Speaker", "chair"),
        ("The Clerk of the House", "chair"),
        ("Some Hon. Members", "collective"),
        ("An hon. member", "collective"),
        ("Le Président", "chair"),
        ("La vice-présidente", "chair"),
        ("Des voix", "collective"),
        ("Mr. Peter Speaker", "speech"),
        ("Hon. Greg Chair", "speech"),
    ],
)
def test_kinds_of_speakers(name: str, kind: str) -> None:
    assert turn_kind(name) == kind


def test_a_page_without_its_date_is_an_error(tmp_path: Path) -> None:
    with refuses("page-unreadable"):
        parse(tmp_path, CANADA.replace("MetaDateNumYear", "Nothing"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (CANADA.replace('lang="EN"', 'lang="FR"'), "french_edition"),
        (CANADA.replace('lang="EN"', 'lang="fr"'), "french_edition"),
        (
            CANADA.replace(
                "<ExtractedInformation>",
                '<ExtractedInformation><ExtractedItem Name="MetaDocumentCategory">Committee</ExtractedItem>',
            ),
            "committee_evidence",
        ),
    ],
)
def test_another_edition_is_left_aside_by_name_and_counted(tmp_path: Path, text: str, kind: str) -> None:
    path = tmp_path / "HAN.xml"
    path.write_text(text, "utf-8")
    named, *turns = canada.parse(RawPage("ca/HAN.xml", path))
    assert isinstance(named, SkippedPageError)
    assert (named.name, named.reason) == ("ca/HAN.xml", canada.LEFT_ASIDE[kind])
    assert {turn.kind for turn in turns if isinstance(turn, Turn)} == {kind}
    assert len(turns) == len(parse(tmp_path))


def test_brackets_in_brackets_are_no_part_of_a_name() -> None:
    assert bare_name("Ms. Yvonne Jones (Parliamentary Secretary to the Minister (North), Lib.):") == "Ms. Yvonne Jones"
    assert bare_name("Le président (M. Pat Kelly (Calgary Rocky Ridge, PCC))") == "Le président"
    assert bare_name("Mr. Lee (never closed") == "Mr. Lee"
    assert bare_name("Mr. (Bob) Lee (Oak (East)) (Lib.):") == "Mr. Lee"
    assert bare_name("Mr. Lee (Oak (East)") == "Mr. Lee"
    assert bare_name("Mr. Lee) (Oak)") == "Mr. Lee)"


def test_the_case_of_a_floor_language_does_not_matter(tmp_path: Path) -> None:
    turns = parse(tmp_path, CANADA.replace('language="EN"', 'language="fr"'))
    assert {t.floor_language for t in turns if t.kind == "speech"} == {"fr"}
