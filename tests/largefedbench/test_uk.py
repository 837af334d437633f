from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from fedtext.largefedbench.raw_pages import RawPage
from fedtext.largefedbench.sources import SOURCES, raw_pages, uk
from fedtext.largefedbench.sources.uk import Chairs
from fedtext.largefedbench.turns import Paragraph, Turn
from tests.refusals import refuses

from .pages import UK


def parse(tmp_path: Path, text: str = UK, name: str = "debates2024-07-30b.xml") -> list[Turn]:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return [item for item in uk.parse(RawPage(f"uk/{name}", path)) if isinstance(item, Turn)]


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
    with refuses("uk-file-name"):
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
        ("2009-10-28", "Mr. Speaker", True),
        ("2009-10-28", "Mr. Deputy Speaker", True),
        ("2009-10-28", "Sylvia Heal", True),
        ("2009-10-28", "Lindsay Hoyle", False),
        ("2021-06-22", "Lord McFall of Alcluith", True),
        ("2010-06-22", "Baroness D'Souza", False),
        ("2012-06-22", "Baroness D'Souza", True),
    ],
)
def test_who_is_in_the_chair(date: str, speaker: str, chair: bool) -> None:
    assert Chairs(date, chamber="House of Commons").has(speaker) is chair


def test_a_notice_moves_the_chair() -> None:
    chairs = Chairs("2024-07-30", chamber="Westminster Hall")
    assert not chairs.has("Ann Ware")
    chairs.notice("[Dame Ann Ware in the Chair]")
    assert chairs.has("Dame Ann Ware")
    chairs.notice("[Mr Ray Moor in the Chair]")
    assert chairs.has("Ray Moor")
    assert not chairs.has("Ann Ware")


def test_a_notice_in_a_heading_moves_the_chair_and_leaves_the_title(tmp_path: Path) -> None:
    heading = "> School Buses <"
    turns = parse(tmp_path, UK.replace(heading, ">[Mr. Tom Hall in the Chair] &#8212; School Buses<"))
    assert turns[2].kind == "chair"
    assert turns[3].title == "Oral Answers - School Buses"


def test_old_pages_have_their_speaker_ids(tmp_path: Path) -> None:
    old = UK.replace('person_id="uk.org.publicwhip/person/6"', 'speakerid="uk.org.publicwhip/member/1654"')
    assert parse(tmp_path, old)[3].speaker_id == "1654"


@pytest.mark.parametrize(
    ("text", "chair"),
    [
        ("My Lords, the time allowed for this Question has elapsed.", True),
        ("We now come to the group beginning with Amendment 58.", True),
        ("I have received one request to speak after the Minister. I call the noble Lord, Lord Purvis.", True),
        ("My Lords, the time allowed for debate is too short for a Question of this weight.", False),
        ("My Lords, I call on the Minister to act.", False),
        ("My Lords, we now come to a point of principle.", False),
    ],
)
def test_the_lords_chair_is_known_by_what_only_the_chair_says(text: str, chair: bool) -> None:
    assert Chairs("2021-06-22", chamber="House of Lords").has("Baroness Fookes", text) is chair
    assert not Chairs("2021-06-22", chamber="House of Commons").has("Baroness Fookes", text)


def speech(*paragraphs: str) -> list[Paragraph]:
    return uk.paragraphs(etree.fromstring(f"<speech>{''.join(paragraphs)}</speech>"))


def test_a_quotation_read_out_is_speech_and_the_words_of_a_motion_are_not() -> None:
    read_out = speech(
        "<p>The report states that</p>",
        '<p class="indent" pwmotiontext="yes">“officers may search”</p>',
        '<p class="indent" pwmotiontext="yes">and they may go on.</p>',
        "<p>That is wrong.</p>",
    )
    assert [p.kind for p in read_out] == ["spoken"] * 4
    moved = speech("<p>I beg to move,</p>", '<p pwmotiontext="yes">That leave be given.</p>', "<p>Imagine a bus.</p>")
    assert [p.kind for p in moved] == ["spoken", "motion_text", "spoken"]
    amended = speech("<p>Amendment 139, page 2, line 33, at end insert—</p>", '<p pwmotiontext="yes">“(1A) This.”</p>')
    assert [p.kind for p in amended] == ["motion_text", "motion_text"]


def test_the_next_amendment_printed_after_a_speech_is_not_said() -> None:
    kinds = [
        p.kind
        for p in speech(
            "<p>I beg leave to withdraw.</p>",
            "<p><b><i>Schedule 19 : Data protection</i></b></p>",
            '<p class="italic">Amendment 118</p>',
            '<p class="italic"> Moved by Lord Tunnicliffe</p>',
            "<p><b>118:</b> Schedule 19, page 185, line 19, at end insert—</p>",
            "<p>(a) omit a word,</p>",
        )
    ]
    assert kinds == ["spoken", "italic", "italic", "italic", "motion_text", "motion_text"]
