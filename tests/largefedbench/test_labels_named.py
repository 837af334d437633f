"""Labels, print and crowds that a parser does not know are named; what only looks like them is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.cleaning.cleaner import clean_speech
from fedtext.largefedbench.snapshot import provenance
from fedtext.largefedbench.sources.us_labels import MemberNames, Person, label, unknown_label
from fedtext.largefedbench.sources.us_lines import paragraphs, read_aloud
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.largefedbench.turns import Paragraph
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base

from .pages import US_DATE
from .test_counted_and_named import read

ROLL = MemberNames({"mr. alder": Person("Ann Alder", "A1"), "mr. cedar of ohio": Person("Carl Cedar", "C1")}, {})


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("The Speaker pro tempore. The Chair reminds him.", "chair", "The Speaker pro tempore"),
        ("The Presiding Officer. The clerk will call.", "chair", "The Presiding Officer"),
        ("The Acting President pro tempore. Order.", "chair", "The Acting President pro tempore"),
        ("Mr. SPEAKER pro tempore. The question is.", "chair", "Mr. SPEAKER pro tempore"),
        ("Madam PRESIDENT. Order.", "chair", "Madam PRESIDENT"),
        ("The Vice President. The Senate will come to order.", "chair", "The Vice President"),
        ("The Chief Justice. The Senate will convene.", "chair", "The Chief Justice"),
        ("The Secretary of the Senate. The vote is.", "chair", "The Secretary of the Senate"),
        ("The ASSISTANT SECRETARY. Mr. Alder.", "chair", "The ASSISTANT SECRETARY"),
        ("The Chaplain. Let us pray.", "chair", "The Chaplain"),
        ("Mr. CEDAR  of Ohio. Madam Speaker, I rise.", "speech", "Mr. CEDAR of Ohio"),
        ("Mr. Alder. I rise.", "speech", "Mr. Alder"),
        ("Mr. ALDER: I rise.", "speech", "Mr. ALDER"),
        ("Mr. Oak. Mr. Speaker, I rise.", "speech", "Mr. Oak"),
        ("MR. ALDER. I rise.", "speech", "MR. ALDER"),
    ],
)
def test_labels_in_other_spellings(text: str, kind: str, name: str) -> None:
    found = label(text, ROLL)
    assert found
    assert (found.kind, found.name) == (kind, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The Umpire. Play on.", "The Umpire"),
        ("Mr. Oak. He is old.", "Mr. Oak"),
        ("Mrs. Van Oak: He is old.", "Mrs. Van Oak"),
        ("ALDER. I rise.", "ALDER"),
    ],
)
def test_what_looks_like_a_label_is_named(text: str, name: str) -> None:
    assert label(text, ROLL) is None
    assert unknown_label(text) == name


@pytest.mark.parametrize(
    "text",
    ["Mr. Speaker. I rise.", "Mr. President, I rise.", "The bridge is old. It fell.", "I saw Mr. Alder. He rose."],
)
def test_running_text_is_no_label(text: str) -> None:
    assert label(text, ROLL) is None
    assert unknown_label(text) == ""


def test_unknown_labels_and_names_stand_in_the_counts_and_the_card(
    raw: Path, tmp_path: Path, words: ChunkTokenizer
) -> None:
    page = raw / f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH3001.htm"
    page.write_text(
        page.read_text("utf-8").replace("  There was no objection.", "  The Umpire. Play on, gentlemen."), "utf-8"
    )
    snapshot = build_snapshot(conf_base(LargeFedBench, snapshot="a"), words, raw_dir=raw, out_dir=tmp_path / "o")
    unknown = provenance(snapshot)["sources"]["us"]["unknown"]
    assert unknown["label"] == {"The Umpire": 1}
    assert unknown["name_not_in_mods"] == {"Mr. ABLE": 1, "Mr. McBRIDE": 1}
    assert "| label | 1 | " in (snapshot / "README.md").read_text("utf-8")


def test_a_label_indented_by_mistake_opens_a_turn() -> None:
    text = "  Mr. ALDER. The bridge is\nold.\n Mr. BIRCH. No.\n   Ms. CEDAR. Yes.\n"
    assert [p.text for p in paragraphs(text)] == ["Mr. ALDER. The bridge is old.", "Mr. BIRCH. No.", "Ms. CEDAR. Yes."]


def test_a_note_that_never_ends_hides_nothing() -> None:
    kinds = [p.kind for p in paragraphs("  One.\n\n======= NOTE =======\n\n  Two.\n  Three.\n")]
    assert sorted(kinds) == ["editorial_note", "spoken", "spoken", "spoken"]


def test_print_at_speech_indent_is_inserted_until_the_chair_is_addressed() -> None:
    ordered = "There being no objection, the statement was ordered to be printed in the Record, as follows:"
    said = [Paragraph(ordered), Paragraph("My father was a ferryman."), Paragraph("Mr. President, I thank all.")]
    assert [p.kind for p in read_aloud(said)] == ["spoken", "inserted", "spoken"]


@pytest.mark.parametrize(
    ("text", "source", "left"),
    [
        ("I thank the gentleman from Oak Island, New York (Mr. Birch), who swam.", "us", "I thank the gentleman from Oak Island, New York, who swam."),
        ("The Members for Northwater and for South Ferry (Mr. Birch) spoke.", "uk", "The Members for Northwater and for South Ferry spoke."),
        ("The Member for Na h-Eilean (Mr. MacOak) rows.", "uk", "The Member for Na h-Eilean rows."),
        ("The material previously referred to by Mr. Alder is as follows:", "us", ""),
        ("[Inuktitut text interpreted as follows:] The ferries are late.", "ca", "The ferries are late."),
    ],
)  # fmt: skip
def test_names_in_brackets_clerks_and_interpreters(text: str, source: str, left: str) -> None:
    assert clean_speech([text], source).text == left


@pytest.mark.parametrize("crowd", ["A voice", "Some voices", "An hon. senator", "Voices"])
def test_canadian_crowds(raw: Path, words: ChunkTokenizer, crowd: str) -> None:
    page = raw / "ca/HAN096-E.XML.xml"
    page.write_text(page.read_text("utf-8-sig").replace("<B>An hon. member:</B>", f"<B>{crowd}:</B>"), "utf-8")
    found = read(raw, "ca", words)
    assert crowd not in {one.speaker for one in found.clients}
    assert not found.counts.unknown


def test_a_canadian_speech_without_a_name_is_nobodys(raw: Path, words: ChunkTokenizer) -> None:
    page = raw / "ca/HAN096-E.XML.xml"
    page.write_text(page.read_text("utf-8-sig").replace("Hon. Anne Roy (Minister of Ferries, Lib.)", ""), "utf-8")
    found = read(raw, "ca", words)
    assert found.rules()["no_speaker"] == 1
    assert found.counts.unknown == {"label": {"no name, affiliation 7": 1}}
