"""Further inputs for what no parser asks for, for consent, and for what is derived from a snapshot: ten and more of each."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.diff import compare
from fedtext.largefedbench.release import write_release
from fedtext.largefedbench.review import review as review_page
from fedtext.largefedbench.snapshot import provenance, read_table
from fedtext.largefedbench.sources.notices import is_no_abstract, notice
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base
from tests.refusals import refuses

from .pages import CANADA, US_DATE, US_HOUSE, US_MODS, preprint, preprint_page
from .test_counted_and_named import ENGLISH, pubmed, read, review, reviews, spoken, uk, write

# --- what no parser asks for


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"summary": "A.", "reasons_to_accept": "B.", "reasons_to_reject": "C.", "questions_to_authors": "D."}, "A. B. C. D."),
        ({"review": "A.", "detailed_comments": "B."}, "A. B."),
        ({"summary_and_contributions": "A.", "correctness": "B.", "additional_feedback": "C."}, "A. C."),
        ({"summary": "A.", "justification": "B.", "detailed_feedback": "C."}, "A. B. C."),
        ({"what_is_this_paper_about": "A.", "missing_references": "B.", "limitations_and_societal_impact": "C."}, "C. A. B."),
        ({"Summary": "A.", "Weaknesses": "B."}, "A. B."),
        ({"paper_strengths": "A.", "paper_weakness": "B."}, "A. B."),
    ],
)  # fmt: skip
def test_forms_of_other_venues(tmp_path: Path, words: ChunkTokenizer, content: dict[str, str], text: str) -> None:
    (one,) = reviews(tmp_path, words, review(content)).clients
    assert one.text == text


@pytest.mark.parametrize(
    "name",
    [
        "ethics_concerns_for_chairs", "comments_for_the_ac", "note_to_senior_area_chairs", "Message_for_Editors",
        "feedback_for_organizers", "comments_to_the_program_committee", "chairs_only_comments", "questions_for_sacs",
    ],
)  # fmt: skip
def test_words_for_those_who_decide_are_confidential(tmp_path: Path, words: ChunkTokenizer, name: str) -> None:
    found = reviews(tmp_path, words, review({"summary": "A.", name: "B.", "questions_for_authors": "C."}))
    assert [one.text for one in found.clients] == ["A. C."]
    assert found.counts.removed["confidential_field"] == [1, 1]


def test_prose_in_a_field_that_has_the_name_of_a_choice_is_named(tmp_path: Path, words: ChunkTokenizer) -> None:
    long = "I read all of it: the proofs are right as far as I can see, but the second lemma needs a condition on the boats, or it fails there."
    content = {
        "summary": "A.",
        "correctness": long,
        "soundness": "3: good",
        "confidence": "4: You are confident, not certain. " * 3,
    }
    found = reviews(tmp_path, words, review(content))
    assert [one.text for one in found.clients] == ["A."]
    assert found.counts.unknown == {"field": {"correctness": 1}}
    assert found.counts.removed["unknown_field"] == [1, 29]


ROW = preprint("10.1101/1")


@pytest.mark.parametrize(
    ("page", "clients", "told"),
    [
        (
            {"messages": [{"status": "ok", "count": 1}], "collection": [ROW, ROW | {"doi": "10.1101/2"}]},
            2,
            "holds 1 rows and holds 2",
        ),
        ({"messages": [{"status": "ok", "count": "31"}], "collection": [ROW]}, 1, "holds 31 rows and holds 1"),
        ({"messages": [{"status": "ok"}]}, 0, "KeyError"),
        ({"messages": [{"status": "ok", "count": 0}], "collection": []}, 0, "holds nothing"),
        ({"messages": [{"status": "ok", "count": 1}], "collection": {"1": ROW}}, 0, "not a list"),
        ({"messages": [], "collection": [ROW]}, 0, "instead of a page"),
        ([ROW], 0, "TypeError"),
    ],
)
def test_pages_of_rows(tmp_path: Path, words: ChunkTokenizer, page: object, clients: int, told: str) -> None:
    write(tmp_path / "biorxiv/p.json", json.dumps(page))
    found = read(tmp_path, "biorxiv", words)
    assert len(found.clients) == clients
    assert told in found.losses["biorxiv/p.json"]


@pytest.mark.parametrize(
    "row", [[ROW], "text", None, ROW | {"date": "2024-13-01"}, ROW | {"abstract": ["We row."]}, ROW | {"doi": " "}, ROW | {"version": None}]
)  # fmt: skip
def test_rows_of_another_shape_are_counted(tmp_path: Path, words: ChunkTokenizer, row: object) -> None:
    write(tmp_path / "biorxiv/p.json", preprint_page([ROW, row]))
    found = read(tmp_path, "biorxiv", words)
    assert found.rules() == {"malformed_row": 1}
    assert len(found.clients) == 1


@pytest.mark.parametrize(
    ("before", "after", "kind", "name"),
    [
        ("<ParaText id=\"9\">", "<Quote><QuotePara>Read out.</QuotePara></Quote><ParaText id=\"9\">", "element", "Quote"),
        ("<ParaText id=\"9\">", "<Poetry><Line>Oh.</Line></Poetry><ParaText id=\"9\">", "element", "Poetry"),
        ("<Content>", "Stray.<Content>", "element", "text outside any element"),
        ("</Intervention>", "</Intervention><Appendix>Words.</Appendix>", "element", "Appendix"),
        ("<Prayer>", "<ThroneSpeech>We, the people.</ThroneSpeech><Prayer>", "element", "ThroneSpeech"),
        ("<B>An hon. member:</B>", "<B>An hon. heckler:</B>", "label", "An hon. heckler"),
    ],
)  # fmt: skip
def test_elements_of_a_sitting(raw: Path, words: ChunkTokenizer, before: str, after: str, kind: str, name: str) -> None:
    assert before in CANADA
    write(raw / "ca/HAN096-E.XML.xml", CANADA.replace(before, after, 1))
    assert name in read(raw, "ca", words).counts.unknown[kind]


def test_a_nested_speech_is_named(tmp_path: Path, words: ChunkTokenizer) -> None:
    page = uk(f"<section>{spoken(1, 'Ann Alder', 'One.')}</section>", spoken(2, "Bea Birch", "Two."))
    write(tmp_path / "uk/debates2024-05-14a.xml", page)
    found = read(tmp_path, "uk", words)
    assert found.counts.unknown == {"element": {"section": 1}}
    assert found.rules() == {"unknown_element": 1}


@pytest.mark.parametrize(
    "name",
    [
        "biorxiv/p.json.xz", "biorxiv/p.jsonl", "biorxiv/p.json~", "biorxiv/p", "biorxiv/w1/p.json.tmp", "uk/debates.zip",
        "uk/readme.md", "ca/HAN1-E.xml.1", "us/CREC-2024-05-14.tar.gz", "us/BILLS-118hr1.zip", "us/loose.htm",
        "pubmed/pubmed24n0001.xml.gz.md5", "openreview/p.csv",
    ],
)  # fmt: skip
def test_files_of_other_names_are_named(tmp_path: Path, words: ChunkTokenizer, name: str) -> None:
    write(tmp_path / name, "x")
    assert name in read(tmp_path, name.partition("/")[0], words).losses


def test_a_folder_that_no_source_has_is_named(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    write(raw / "bioarxiv/p.json", preprint_page([ROW]))
    write(raw / "UK/debates2024-05-14a.xml", uk(spoken(1, "Ann Alder", "One.")))
    write(raw / "takedown.txt", "")
    write(raw / "loose.xml", "<a/>")
    snapshot = build_snapshot(conf_base(LargeFedBench, snapshot="a"), words, raw_dir=raw, out_dir=tmp_path / "o")
    assert {"bioarxiv", "UK", "loose.xml"} <= {bad["page"] for bad in provenance(snapshot)["bad_pages"]}


@pytest.mark.parametrize(
    ("inside", "named"),
    [
        ("HTML/CREC-{day}-pt1-PgH3001.HTM", False),
        ("html/CREC-{day}-pt1-PgH3001.html", True),
        ("html/more/CREC-{day}-pt1-PgH3001.htm", True),
        ("xhtml/CREC-{day}-pt1-PgH3001.xml", True),
        ("CREC-{day}.txt", True),
        ("pdf/CREC-{day}-pt1-PgH3001.pdf", False),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_files_of_a_day(tmp_path: Path, words: ChunkTokenizer, inside: str, named: bool, zipped: bool) -> None:
    day = f"CREC-{US_DATE}"
    files = {"mods.xml": US_MODS, inside.format(day=US_DATE): US_HOUSE}
    if zipped:
        path = write(tmp_path / f"us/{day}.zip", b"")
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                archive.writestr(f"{day}/{name}", text)
    else:
        for name, text in files.items():
            write(tmp_path / f"us/{day}/{name}", text)
    found = read(tmp_path, "us", words)
    assert any(name.endswith(Path(inside.format(day=US_DATE)).name) for name in found.losses) == named
    assert bool(found.clients) == inside.startswith("HTML")


# --- consent


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("TEMPORARY REMOVAL: Boats", "We count boats."),
        ("WITHDRAWN: Boats", "This article has been withdrawn at the request of the editor."),
        ("Boats", "The authors have requested that this preprint be removed from the server."),
        ("Boats", "This manuscript was posted in error and should be disregarded."),
        ("Boats", "Owing to errors in the data, the authors no longer stand by the conclusions of this manuscript."),
        ("Boats", "We have decided to withdraw our manuscript while we repeat the counts."),
        ("Boats", "The corresponding author has asked for the withdrawal of this preprint."),
        ("Boats", "Withdrawn by the authors."),
        ("Boats", "This version of the manuscript has been removed pending an investigation."),
        ("Boats", "Editorial note: concerns were raised about this preprint; it is no longer online."),
        ("Boats", "Please do not cite this preprint; it contains an error."),
        ("Retraction to: Boats", "We count boats."),
        ("Retraction—Boats", "We count boats."),
        ("Editorial Expression of Concern for: Boats", "We count boats."),
        ("Corrigendum", "We count boats."),
        ("Author Correction. Boats", "We count boats."),
        ("Corrections to “Boats”", "We count boats."),
        ("Publisher’s Note: Boats", "We count boats."),
        ("Boats", "The original article was corrected."),
        ("Boats", "An amendment to this paper has been published and can be accessed via a link."),
        ("Boats", "[This retracts the article DOI: 10.1/2.]"),
        ("Boats – RETRACTED", "We count boats."),
    ],
)
def test_notices_of_other_servers(title: str, text: str) -> None:
    assert notice(title, text)


@pytest.mark.parametrize(
    "text",
    [
        "Of 40 patients, three decided to withdraw from the study.",
        "Participants were asked to remove their shoes and wished to retract nothing.",
        "The tongue was retracted and the lesion removed.",
        "We review why papers are retracted, and find that most are withdrawn for errors.",
        "The correction of vision needs lenses that are no longer available.",
        "We corrected the original article's figures of rainfall by reanalysis.",
        "The paper electrode was removed by hand after drying.",
        "Work removed by erosion amounts to two tonnes a year.",
        "We pulled this paper strip through the tube.",
        "Withdrawal symptoms were scored daily; the drug was withdrawn slowly.",
        "An error in the code was corrected; the submission of data is not available to us.",
        "Removal: how bees carry out their dead.",
    ],
)
def test_abstracts_that_are_no_notices(text: str) -> None:
    assert notice("On boats", text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Abstract", "ABSTRACT:", "N.A.", "(none)", "--", "...", "No Abstract", "Not applicable.", "[No abstract]", "Summary not available.",
        "Abstract unavailable", "There is no abstract for this article.", "to be added", "TBA", "No summary provided.", "Abstract to follow.",
        "Please refer to the PDF.", "See the full text for the abstract.", "無", "NaN",
    ],
)  # fmt: skip
def test_texts_that_say_there_is_none(text: str) -> None:
    assert is_no_abstract(text)


@pytest.mark.parametrize(
    ("changes", "note", "kept"),
    [
        ({"ddate": 0}, {}, True),
        ({"ddate": None}, {}, True),
        ({"ddate": "1700000100000"}, {}, False),
        ({"readers": "everyone"}, {}, True),
        ({"readers": ["everyone", "V/Chairs"]}, {}, True),
        ({"readers": ["~Ann_Alder1"]}, {}, False),
        ({"readers": None}, {}, False),
        ({"readers": {"value": ["V/Chairs"]}}, {}, False),
        ({"nonreaders": ["everyone"]}, {}, False),
        ({"nonreaders": []}, {}, True),
        ({}, {"readers": ["V/Chairs"]}, False),
        ({}, {"ddate": 1}, False),
    ],
)
def test_who_may_read_a_review(
    tmp_path: Path, words: ChunkTokenizer, changes: dict[str, Any], note: dict[str, Any], kept: bool
) -> None:
    found = reviews(tmp_path, words, review({"summary": "A."}, **changes), **note)
    assert bool(found.clients) == kept
    assert kept or set(found.rules()) <= {"deleted", "not_public", "malformed_row"}


@pytest.mark.parametrize(
    "after",
    [
        '<CommentsCorrectionsList><CommentsCorrections RefType="RetractionIn"/></CommentsCorrectionsList>',
        '<CommentsCorrectionsList><CommentsCorrections RefType="PartialRetractionIn"/></CommentsCorrectionsList>',
        '<CommentsCorrectionsList><CommentsCorrections RefType="CommentIn"/><CommentsCorrections RefType="RetractionIn"/></CommentsCorrectionsList>',
    ],
)
def test_a_retracted_article(tmp_path: Path, words: ChunkTokenizer, after: str) -> None:
    write(tmp_path / "pubmed/p.xml", pubmed(ENGLISH, after))
    assert not read(tmp_path, "pubmed", words).clients


# --- what is derived from a snapshot


def built(raw: Path, out: Path, words: ChunkTokenizer, name: str, **changes: object) -> Path:
    params = conf_base(LargeFedBench, snapshot=name, raw_dir=str(raw), **changes)
    return build_snapshot(params, words, raw_dir=raw, out_dir=out)


KELLER = "2024-05-14.us.pt1-PgH3001.0001"


@pytest.mark.parametrize(
    "line",
    [
        "speaker: us/K000001",
        "\ufeffspeaker: us/K000001",
        "speaker: us/K000001\r",
        "Speaker: US/K000001",
        "ID: " + KELLER,
        "id:" + KELLER,
        "\tspeaker :  us / K000001  # asked on 1 July",
        "speaker：us/K000001",
        "speaker:\u00a0us/K000001",
        "speaker: us/jane keller",
        "speaker: us/Jane  Keller",
        "id: " + KELLER + ".",
    ],
)
def test_a_request_in_another_hand_is_kept_or_told(
    raw: Path, tmp_path: Path, words: ChunkTokenizer, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody who asked to be left out may stay because of a space: the line holds, or it is told that it does not."""
    (raw / "takedown.txt").write_bytes(f"# requests\n{line}\n".encode())
    if "\ufeff" in line:
        (raw / "takedown.txt").write_bytes(f"{line}\n".encode())
    ids = read_table(built(raw, tmp_path, words, "a"), "congress", "clients")["client_id"].to_pylist()
    assert KELLER not in ids or "matched by line 2" in caplog.text


@pytest.mark.parametrize("line", ["Jane Keller", "speaker: K000001", "speaker us/K000001", "id", "us/K000001: speaker"])
def test_a_request_that_cannot_be_read_is_refused(raw: Path, tmp_path: Path, words: ChunkTokenizer, line: str) -> None:
    write(raw / "takedown.txt", f"{line}\n")
    with refuses("takedown-line-unusable"):
        built(raw, tmp_path, words, "a")


def test_nothing_that_a_release_holds_names_who_was_taken_down(
    raw: Path, tmp_path: Path, words: ChunkTokenizer
) -> None:
    before = built(raw, tmp_path, words, "a", near_duplicates="report")
    write(raw / "takedown.txt", "speaker: us/K000001\n")
    after = built(raw, tmp_path, words, "b", near_duplicates="report")
    change = compare(before, after)
    import datetime

    release = write_release(after, before, tmp_path / "release", datetime.date(2026, 1, 1))
    page = review_page("2024H1", provenance(after), provenance(before), change, [], 3.0)
    for text in (page, *(path.read_bytes().decode("latin-1") for path in release.rglob("*") if path.is_file())):
        assert KELLER not in text
        assert "K000001" not in text
        assert "Keller" not in text
