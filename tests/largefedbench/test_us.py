from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from fedtext.largefedbench.raw_pages import RawPage, RawPageError
from fedtext.largefedbench.sources import us, us_lines
from fedtext.largefedbench.turns import Turn

from .pages import US_DATE


@pytest.fixture
def package(raw: Path) -> Path:
    return raw / "us" / f"CREC-{US_DATE}"


def parse(package: Path) -> list[Turn | RawPageError]:
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
    assert len(items) == 7


def test_missing_mods_is_reported_and_classes_come_from_the_page_letter(package: Path) -> None:
    (package / "mods.xml").unlink()
    items = parse(package)
    assert isinstance(items[0], RawPageError)
    assert items[0].name.endswith("mods.xml")
    assert turns(package)[0].kind == "extensions_of_remarks"
    assert turns(package)[2].speaker == "Ms. KELLER of Ohio"


def test_a_package_with_another_name_is_an_error(raw: Path) -> None:
    with pytest.raises(RawPageError, match="not named CREC-<date>"):
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
        ("Ms. De La Cruz is right. She", None),
        ("Mr. WARNER (for himself and Mr. Kyl) proposed an amendment. It", None),
        ("Mr. Smith of Texas is right. He", None),
        ("SA 1303. Mr. VOINOVICH submitted an amendment", None),
        ("Messrs. SMITH, JONES changed their vote. Ok", None),
    ],
)
def test_speaker_labels(line: str, name: str | None) -> None:
    match = us.MEMBER.match(line)
    assert (match and match["name"]) == name


@pytest.mark.parametrize(
    "line",
    [
        "The SPEAKER pro tempore (Mr. Poe). Under",
        "The Acting CHAIRMAN (Mr. Latham) (during the vote). Members",
        "The PRESIDING OFFICER. Without objection",
        "THE PRESIDING OFFICER. Without",
        "The VICE PRESIDENT. The",
        "The PRESIDENT pro tempore. The",
    ],
)
def test_chair_labels(line: str) -> None:
    assert us.CHAIR.match(line)


def test_the_president_as_a_subject_is_no_chair() -> None:
    assert us.CHAIR.match("The President. I met him") is None
    assert us.CHAIR.match("The Speaker of the House. He") is None


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
