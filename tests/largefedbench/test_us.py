from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from fedtext.largefedbench.raw_pages import Completeness, RawPage, RawPageError
from fedtext.largefedbench.sources import us, us_lines
from fedtext.largefedbench.sources.us import without_copies
from fedtext.largefedbench.sources.us_labels import (
    MemberNames,
    Person,
    label,
    members_by_name,
)
from fedtext.largefedbench.sources.us_lines import read_aloud
from fedtext.largefedbench.turns import CHAIR_TURN, COPY, SPEECH, Paragraph, Turn
from tests.refusals import refuses

from .pages import US_DATE


@pytest.fixture
def package(raw: Path) -> Path:
    return raw / "us" / f"CREC-{US_DATE}"


def parse(package: Path) -> list[Turn | RawPageError | Completeness]:
    return list(us.parse(RawPage(f"us/{package.name}", package)))


def turns(package: Path) -> list[Turn]:
    return [item for item in parse(package) if isinstance(item, Turn)]


def test_speakers_kinds_and_ids(package: Path) -> None:
    assert [(t.client_id, t.kind, t.speaker, t.speaker_id) for t in turns(package)] == [
        ("2024-05-14.us.pt1-PgE77", "extensions_of_remarks", "", ""),
        ("2024-05-14.us.pt1-PgH3001.0000", "unattributed", "", ""),
        ("2024-05-14.us.pt1-PgH3001.0001", "speech", "Jane Keller", "K000001"),
        ("2024-05-14.us.pt1-PgH3001.0002", "chair", "The SPEAKER pro tempore", ""),
        ("2024-05-14.us.pt1-PgH3001.0003", "not_spoken", "Mr. ABLE", ""),
        ("2024-05-14.us.pt1-PgH3001.0004", "speech", "Mr. McBRIDE", ""),
    ]


def test_paragraphs_by_kind(package: Path) -> None:
    speech = turns(package)[2]
    assert speech.title == "BRIDGES"
    kinds = [p.kind for p in speech.paragraphs]
    assert kinds.count("inserted") >= 2
    assert kinds.count("spoken") == 4
    first = next(p.text for p in speech.paragraphs if p.kind == "spoken")
    assert "state-owned bridges are no better, and the water is rising" in first


def test_no_character_is_lost(package: Path) -> None:
    name = f"CREC-{US_DATE}-pt1-PgH3001.htm"
    text = us.preformatted(name, (package / "html" / name).read_bytes())
    read = [p.text for t in turns(package) if "PgH3001" in t.client_id for p in t.paragraphs]
    assert len("".join("".join(read).split())) == len("".join(text.split()))


def test_a_zip_package_reads_the_same(package: Path, tmp_path: Path) -> None:
    archive = tmp_path / f"{package.name}.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(package.rglob("*")):
            if path.is_file():
                file.write(path, f"{package.name}/{path.relative_to(package)}")
    assert turns(archive) == turns(package)


def test_a_bad_granule_is_reported_and_the_others_are_read(package: Path) -> None:
    (package / "html" / f"CREC-{US_DATE}-pt1-PgS9.htm").write_bytes(b"<html>no text block</html>")
    items = parse(package)
    errors = [item for item in items if isinstance(item, RawPageError)]
    assert [(e.name, e.reason) for e in errors] == [
        (f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgS9.htm", "InputError: no <pre> block")
    ]
    assert len(turns(package)) == 6


def test_missing_mods_is_reported_and_classes_come_from_the_page_letter(package: Path) -> None:
    (package / "mods.xml").unlink()
    items = parse(package)
    assert isinstance(items[0], RawPageError)
    assert items[0].name.endswith("mods.xml")
    assert turns(package)[0].kind == "extensions_of_remarks"
    assert turns(package)[2].speaker == "Ms. KELLER of Ohio"


def test_a_package_with_another_name_is_an_error(raw: Path) -> None:
    with refuses("package-name"):
        list(us.parse(RawPage("us/other", raw / "us")))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Ms. EDDIE BERNICE JOHNSON of Texas. Mr. Speaker", "Ms. EDDIE BERNICE JOHNSON of Texas"),
        ("Mr. McCONNELL. Mr. President", "Mr. McCONNELL"),
        ("Mr. LINCOLN DIAZ-BALART of Florida. I", "Mr. LINCOLN DIAZ-BALART of Florida"),
        ("Ms. LINDA T. SANCHEZ of California. I", "Ms. LINDA T. SANCHEZ of California"),
        ("Mr. O'BRIEN. I", "Mr. O'BRIEN"),
        ("Mr. BISHOP of New York (during the vote). I", "Mr. BISHOP of New York"),
        ("MR. HIGGINS of New York. I", "MR. HIGGINS of New York"),
        ("Ms. De La CRUZ. I", "Ms. De La CRUZ"),
        ("Mr. de la GARZA. I", "Mr. de la GARZA"),
        ("Mr. Van HOLLEN. I", "Mr. Van HOLLEN"),
        ("Ms. BARRAGÁN. I", "Ms. BARRAGÁN"),
        ("Mr. ÁLVAREZ. I", "Mr. ÁLVAREZ"),
        ("Mr. KOHL.", "Mr. KOHL"),
        ("Mr. Manager SCHIFF. Mr. Chief Justice", "Mr. Manager SCHIFF"),
        ("Ms. Manager GARCIA of Texas. Mr. Chief Justice", "Ms. Manager GARCIA of Texas"),
        ("Mr. Counsel CIPOLLONE. Thank you", "Mr. Counsel CIPOLLONE"),
        ("Prime Minister KISHIDA. Mr. Speaker", "Prime Minister KISHIDA"),
        ("President ZELENSKYY. Thank you", "President ZELENSKYY"),
        ("Pope FRANCIS. Mr. Vice President", "Pope FRANCIS"),
        ("The PRESIDENT. Mr. Speaker, Madam Vice President", "The PRESIDENT"),
        ("Mr. WARNER, Mr. President, I", "Mr. WARNER"),
        ("Mr. LUJÁN [presiding]. I", "Mr. LUJÁN"),
        ("Mr. DORGAN addressed the Chair.", None),
        ("World War II. It", None),
        ("President Zelenskyy. He", None),
        ("Ms. De La Cruz is right. She", None),
        ("Mr. WARNER (for himself and Mr. Kyl) proposed an amendment. It", None),
        ("Mr. Smith of Texas is right. He", None),
        ("SA 1303. Mr. VOINOVICH submitted an amendment", None),
        ("Messrs. SMITH, JONES changed their vote. Ok", None),
    ],
)
def test_speaker_labels(line: str, name: str | None) -> None:
    found = label(line)
    assert (found and found.name) == name
    assert found is None or found.kind == SPEECH


@pytest.mark.parametrize(
    "line",
    [
        "The SPEAKER pro tempore (Mr. Poe). Under",
        "The Acting CHAIRMAN (Mr. Latham) (during the vote). Members",
        "The PRESIDING OFFICER. Without objection",
        "THE PRESIDING OFFICER. Without",
        "The VICE PRESIDENT. The",
        "The PRESIDENT pro tempore. The",
        "The PRESIDING OFFICER [Mr. Brownback]. Without",
        "The ACTING PRESIDENT pro tempore. The",
        "The CHIEF JUSTICE. The",
        "The SERGEANT AT ARMS. Hear ye",
    ],
)
def test_chair_labels(line: str) -> None:
    found = label(line)
    assert found is not None
    assert found.kind == CHAIR_TURN


def test_the_president_as_a_subject_is_no_chair() -> None:
    assert label("The President. I met him") is None
    assert label("The Speaker of the House. He") is None


def test_headings_centred_at_the_left_are_not_speech() -> None:
    text = "\n\n CALLING FOR FREE ELECTIONS IN A REPUBLIC WITH A LONG NAME\n          SOMEWHERE\n\n  Mr. POE. Yes.\n"
    kinds = [(p.kind, p.text) for p in us_lines.paragraphs(text)]
    assert kinds[0][0] == "heading"
    assert kinds[0][1].endswith("SOMEWHERE")
    assert kinds[-1] == ("spoken", "Mr. POE. Yes.")


def test_two_space_headings_over_a_centred_line_are_not_speech() -> None:
    text = "as follows:\n\n  Statement of Senator Warner Before the\n              Committee on Ways\n\n  I agree.\n"
    assert [p.kind for p in us_lines.paragraphs(text)] == ["heading", "heading", "spoken"]


def test_editorial_notes_are_set_apart() -> None:
    text = "  One.\n\n======= NOTE =======\n\n  On page 3, a word was wrong.\n\n======= END NOTE =======\n\n  Two.\n"
    paragraphs = list(us_lines.paragraphs(text))
    assert [p.text for p in paragraphs if p.kind == "spoken"] == ["One.", "Two."]
    assert sum(p.kind == "editorial_note" for p in paragraphs) == 3


def test_hyphens_close_up() -> None:
    assert us_lines.join_lines(["the 109-", "179th state-", "owned thing--", "And so", "on"]) == (
        "the 109-179th state-owned thing--And so on"
    )


DORGAN, REID = Person("Byron L. Dorgan", "D000432"), Person("Harry Reid", "R000146")


def test_a_name_is_never_read_as_a_near_one() -> None:
    roll = MemberNames({}, members_by_name([("Mr. DORGAN", DORGAN), ("Mr. O'REID", REID)]))
    assert roll.find("Mr. Manager DORGAN") == roll.find("MR.  Dorgan") == DORGAN
    assert roll.find("Mr. O’REID") == REID
    for printed in ("Mr. DROGAN", "Ms. DORGAN", "Mr. DORGEN", "Mr. DURBIN"):
        assert roll.find(printed) == Person(printed, "")


def test_a_name_of_two_members_is_nobodys() -> None:
    assert members_by_name([("Mr. KING", DORGAN), ("Mr. KING", REID)]) == {}


def test_a_quotation_after_a_members_colon_is_read_aloud() -> None:
    def kinds(announced: str, inserted: str = "The plan is a good one.") -> str:
        return read_aloud(
            [Paragraph(announced), Paragraph("[[Page S1]]", "page_mark"), Paragraph(inserted, "inserted")]
        )[2].kind

    assert kinds("The task force went on to observe:") == "spoken"
    assert (
        kinds("There being no objection, the letter was ordered to be printed in the Record, as follows:") == "inserted"
    )
    assert kinds("I include this report in the Record:") == "inserted"
    assert kinds("I said so.") == "inserted"
    assert kinds("The bill says:", "Be it enacted by the Senate") == "inserted"
    assert kinds("I base it on these factors:", "resettlement of refugees") == "inserted"  # a heading


def granule(name: str, *texts: str) -> list[Turn]:
    return [
        Turn(f"{name}.{n}", "us", SPEECH, "2024-05-14", (Paragraph("Mr. POE. ", "speaker_label"), Paragraph(text)))
        for n, text in enumerate(texts)
    ]


LONG = "the bridge over the river is old and nobody has looked at its pillars for many years so the water rises under it now "


def test_a_section_loses_what_its_parts_hold_and_nothing_else() -> None:
    part = granule("part", f"One {LONG}", "I yield back.")
    section = granule("section", f"Zero {LONG}", f"One {LONG}", "I yield back.", f"Two {LONG}")
    other = granule("other", "I yield back.", f"Three {LONG}")
    kept = without_copies([part, section, other])
    assert kept[0] == part
    assert [turn.kind for turn in kept[1]] == [SPEECH, COPY, COPY, SPEECH]
    assert kept[2] == other
    assert without_copies([section, part])[1] == part  # in whatever order they come


def test_formulas_that_two_granules_share_are_no_copies() -> None:
    one, two = granule("one", "I thank the Chair.", LONG), granule("two", "I thank the Chair.", f"Not {LONG} at all")
    assert without_copies([one, two]) == [one, two]


def test_hearing_notices_and_statements_with_a_closing_bullet_are_not_speech(package: Path) -> None:
    mods = package / "mods.xml"
    mods.write_text(mods.read_text("utf-8").replace("<title>BRIDGES", "<title>NOTICES OF HEARINGS"), "utf-8")
    assert {turn.kind for turn in turns(package) if "PgH3001" in turn.client_id} == {"printed_notice"}
    page = package / "html" / f"CREC-{US_DATE}-pt1-PgH3001.htm"
    page.write_text(page.read_text("utf-8").replace("I was there.", "I was there.•"), "utf-8")
    mods.write_text(mods.read_text("utf-8").replace("NOTICES OF HEARINGS", "BRIDGES"), "utf-8")
    assert turns(package)[-1].kind == "not_spoken"
