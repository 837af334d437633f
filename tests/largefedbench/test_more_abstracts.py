"""More inputs of abstracts and reviews: headings, codes, notices, languages and forms that no list had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedtext.largefedbench.cleaning.abstracts import clean_abstract, unknown_markup
from fedtext.largefedbench.sources.notices import is_no_abstract, notice
from fedtext.largefedbench.tokens import ChunkTokenizer

from .pages import preprint, preprint_page
from .test_counted_and_named import ENGLISH, pubmed, read, review, reviews, write

# --- headings and codes


@pytest.mark.parametrize(
    "heading",
    [
        "AbstractBackground", "Conclusion and relevance", "Key Messages", "What is already known on this topic", "What this study adds",
        "Main outcomes and measures", "Primary outcome", "Design, setting, and participants", "Study population", "Search strategy",
        "Eligibility criteria", "Data Extraction and Synthesis", "Statistical Analyses", "Risk of bias", "PROSPERO registration",
        "Clinical Trial Registration", "ClinicalTrials.gov registration", "Ethics and dissemination", "Funding sources",
        "Declaration of competing interest", "Conflicts of Interest", "Author contributions", "Acknowledgements", "Code availability",
        "Research question", "In brief", "Clinical Implications", "Strengths and limitations of this study", "Evidence before this study",
        "Added value of this study", "Research in context", "METHODOLOGY", "Measures", "Case presentation", "Key words", "Population",
    ],
)  # fmt: skip
def test_a_fused_heading_that_no_list_had(heading: str) -> None:
    for before in ("", "We row. "):
        cleaned = clean_abstract([f"{before}{heading}Boats sank."], "biorxiv")
        assert cleaned.text == f"{before}Boats sank."
        assert {one.rule for one in cleaned.removed} == {"fused_heading"}


@pytest.mark.parametrize(
    "text",
    [
        "The caseControl design is ours.", "We used dataMining on boats.", "AlphaFold predicts boats.", "PubMed was searched.",
        "Our studyGuide helps.", "These findings were made by BoatWatch.", "Using resultsDB, we row.", "MicroRNA levels rose.",
    ],
)  # fmt: skip
def test_words_of_two_cases_are_no_heading(text: str) -> None:
    assert clean_abstract([text], "biorxiv").text == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("We count O_INLINEFIGC_INLINEFIG boats.", "We count boats."),
        ("We row. O_FIG_DISPLAY_L M_FIG_DISPLAY C_FIG_DISPLAY We swim.", "We row. We swim."),
        ("O_DISPLAY_FORMULAx = 1C_DISPLAY_FORMULA holds.", "x = 1 holds."),
        ("M_STBOX Boats sink.", "Boats sink."),
        ("O_LISTAT3 is high.C_LI", "STAT3 is high."),
        ("Abstract O_ST_ABSAimC_ST_ABSTo row.", "To row."),
        (f"O_ST_ABSA heading {'of words ' * 15}endsC_ST_ABSBoats.", "Boats."),
        ("<jats:title>Background</jats:title><jats:p>Boats.</jats:p>", "Boats."),
        ("ABO_SCPLOWSTRACTC_SCPLOW Ferries sink.", "Ferries sink."),
        ("GRAPHICAL ABSTRACT O_FIG O_LINKSMALLFIG SRC=x> C_FIG We row.", "We row."),
        ("O_VIDC_VID We row.", "We row."),
    ],
)
def test_codes_of_the_publishers(text: str, clean: str) -> None:
    cleaned = clean_abstract([text], "biorxiv").text
    assert cleaned == clean
    assert not unknown_markup(cleaned, "biorxiv")


# --- notices and texts that say there is none


@pytest.mark.parametrize(
    ("title", "text", "kind"),
    [
        ("Boats", "The authors have withdrawn this study.", "withdrawn"),
        ("Boats", "This record was removed by the author.", "withdrawn"),
        ("Boats", "This report has been withdrawn.", "withdrawn"),
        ("Boats", "The manuscript has been temporarily withdrawn.", "withdrawn"),
        ("Boats", "The corresponding author requested that this be withdrawn.", "withdrawn"),
        ("Boats", "Content removed", "withdrawn"),
        ("Boats", "Retracted.", "retracted"),
        ("Retraction and replacement: Boats", "We row.", "retracted"),
        ("Retraction for Doe et al., Boats", "We row.", "retracted"),
        ("Retraction of “Boats”", "We row.", "retracted"),
        ("Article retracted: Boats", "We row.", "retracted"),
        ("Correction for Doe et al., Boats", "We row.", "correction_notice"),
        ("Notice of Expression of Concern: Boats", "We row.", "expression_of_concern"),
        ("Interim expression of concern: Boats", "We row.", "expression_of_concern"),
        ("Statement of Concern: Boats", "We row.", "expression_of_concern"),
        ("Correction for guessing in tests", "We row.", None),
        ("Letters of concern in old towns", "We row.", None),
        ("Retraction of the tongue", "Removed boats were few.", None),
        ("Boats", "This study was withdrawn funding for years, and we row.", None),
        ("Boats", "Of 40 patients, three withdrew from this study.", None),
    ],
)
def test_notices_in_more_words(title: str, text: str, kind: str | None) -> None:
    assert notice(title, text) == kind


@pytest.mark.parametrize(
    "changes", [{"type": "retracted"}, {"type": "removed"}, {"type": None, "title": "Retracted: x"}]
)
def test_a_row_that_is_taken_back_by_its_type(tmp_path: Path, words: ChunkTokenizer, changes: dict[str, Any]) -> None:
    write(tmp_path / "biorxiv/p.json", preprint_page([preprint("10.1101/1", **changes)]))
    assert set(read(tmp_path, "biorxiv", words).rules()) <= {"retracted", "withdrawn"}


@pytest.mark.parametrize("version", [1, "1.0", "01", " 1", 1.0])
def test_the_first_version_in_another_spelling(tmp_path: Path, words: ChunkTokenizer, version: object) -> None:
    write(tmp_path / "biorxiv/p.json", preprint_page([preprint("10.1101/1", version=version)]))
    (one,) = read(tmp_path, "biorxiv", words).clients
    assert one.url.endswith("10.1101/1v1")


@pytest.mark.parametrize(
    "text",
    [
        "An abstract is unavailable.", "This article does not contain an abstract.", "Abstract available from the publisher.", "See main text",
        "No abstract provided by author", "No abstract (editorial)", "Abstract will be updated", "Available in full text.", "[deleted]",
        "This review has been deleted.", "Abstract omitted", "Please download the PDF", "Full text available.", "Non disponible",
        "Image, graphical abstract", "No abstract exists", "see attached", "First page preview.", "Letter to the editor.", "Placeholder",
    ],
)  # fmt: skip
def test_more_texts_that_say_there_is_none(text: str) -> None:
    assert is_no_abstract(text)


@pytest.mark.parametrize(
    "text", ["We count.", "Removed boats sink.", "Text mining of boats.", "See how boats sink in the text."]
)
def test_short_texts_that_say_something(text: str) -> None:
    assert not is_no_abstract(text)


# --- languages of PubMed


@pytest.mark.parametrize(
    "more",
    [
        "</Abstract><Abstract><AbstractText>Se contaron los barcos en dos ríos.</AbstractText>",
        "<AbstractText>RESUMEN: Se contaron los barcos.</AbstractText>",
        '<AbstractText Label="RÉSUMÉ">Les bateaux.</AbstractText><AbstractText Label="BUT">Compter.</AbstractText>',
        '<AbstractText xml:lang="de">Boote.</AbstractText>',
        "<AbstractText>Die Boote wurden auf dem Fluss und in der Stadt gezählt.</AbstractText>",
        "<AbstractText>在两条河上数了船，夏天很少。</AbstractText>",
    ],
)
def test_a_section_in_another_language_is_another_abstract(tmp_path: Path, words: ChunkTokenizer, more: str) -> None:
    write(tmp_path / "pubmed/p.xml", pubmed(f"<Abstract>{ENGLISH_TEXT}{more}</Abstract>"))
    found = read(tmp_path, "pubmed", words)
    assert [one.text for one in found.clients] == ["We counted the boats on two rivers."]
    assert "other_abstract" in found.counts.removed


ENGLISH_TEXT = "<AbstractText>We counted the boats on two rivers.</AbstractText>"


@pytest.mark.parametrize(
    "text",
    [
        "在两条河上数了船，夏天很少。",
        "De boten werden geteld in twee rivieren, en ze waren in de zomer schaars.",
        "Båtene ble talt i to elver, og det var få til sommeren, men de var med.",
    ],
)
def test_a_text_that_says_nothing_of_its_language(tmp_path: Path, words: ChunkTokenizer, text: str) -> None:
    page = pubmed(f"<Abstract><AbstractText>{text}</AbstractText></Abstract>")
    write(tmp_path / "pubmed/p.xml", page.replace("<Language>fre</Language>", ""))
    assert read(tmp_path, "pubmed", words).rules() == {"another_language": 1}


def test_an_abstract_in_another_language_within_the_article_is_counted(tmp_path: Path, words: ChunkTokenizer) -> None:
    other = '<OtherAbstract Language="spa"><AbstractText>Se contaron barcos.</AbstractText></OtherAbstract>'
    write(tmp_path / "pubmed/p.xml", pubmed(f"<Abstract>{ENGLISH_TEXT}</Abstract>{other}"))
    assert read(tmp_path, "pubmed", words).counts.removed["other_abstract"] == [1, 3]


@pytest.mark.parametrize("kind", ["Retraction In", "retraction-in", "Expression Of Concern In"])
def test_a_notice_in_another_spelling(tmp_path: Path, words: ChunkTokenizer, kind: str) -> None:
    said = f'<CommentsCorrectionsList><CommentsCorrections RefType="{kind}"/></CommentsCorrectionsList>'
    write(tmp_path / "pubmed/p.xml", pubmed(ENGLISH, said))
    assert not read(tmp_path, "pubmed", words).clients


# --- reviews


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"summary": ["A.", "B."], "weaknesses": "C."}, "A. B. C."),
        ({"summary": "A.", "needs_ethics_review": "No", "ethics_review_area": "I do not know", "time_spent_reviewing": "4"}, "A."),
        ({"summary": "A.", "justification_for_recommendation": "B.", "final_rating_justification": "C."}, "A. B. C."),
        ({"summary": "A.", "pros": "B.", "cons": "C."}, "A. B. C."),
        ({"summary": "A.", "discussion": "B.", "related_work": "C.", "minor_issues": "D."}, "A. B. C. D."),
        ({"summary": "A.", "quality": 3, "clarity": 2, "originality": 4}, "A."),
    ],
)  # fmt: skip
def test_more_forms(tmp_path: Path, words: ChunkTokenizer, content: dict[str, Any], text: str) -> None:
    found = reviews(tmp_path, words, review(content))
    assert [one.text for one in found.clients] == [text]
    assert not found.counts.unknown


@pytest.mark.parametrize("name", ["ac_comment", "pc_note", "chairs_message"])
def test_a_field_of_the_chairs_is_confidential(tmp_path: Path, words: ChunkTokenizer, name: str) -> None:
    found = reviews(tmp_path, words, review({"summary": "A.", name: "B."}))
    assert [one.text for one in found.clients] == ["A."]
    assert found.counts.removed["confidential_field"] == [1, 1]


@pytest.mark.parametrize("odd", [None, 1, "x", {}, {"id": "o"}, {"id": ["o"], "invitations": [1]}])
def test_a_reply_of_another_shape_takes_no_review_with_it(tmp_path: Path, words: ChunkTokenizer, odd: object) -> None:
    found = reviews(tmp_path, words, review({"summary": "A."}), odd)
    assert [one.text for one in found.clients] == ["A."]
    assert found.rules() == {"malformed_row": 1}


def test_replies_of_either_field_are_read_once(tmp_path: Path, words: ChunkTokenizer) -> None:
    one, other = review({"summary": "A."}), review({"summary": "B."}, id="r2")
    found = reviews(tmp_path, words, details={"directReplies": [one], "replies": [one, other]})
    assert sorted(client.text for client in found.clients) == ["A.", "B."]


def test_a_review_of_an_old_note_is_dated_by_the_servers_record(tmp_path: Path, words: ChunkTokenizer) -> None:
    found = reviews(tmp_path, words, review({"summary": "A."}, cdate=None, tcdate=1700000000000))
    assert [one.date for one in found.clients] == ["2023-11-14"]


def test_a_fraction_as_a_rating_is_a_label(tmp_path: Path, words: ChunkTokenizer) -> None:
    (one,) = reviews(tmp_path, words, review({"summary": "A.", "rating": 4.5})).clients
    assert one.label.endswith("| 4.5")


def test_a_deleted_kind_of_review_is_none(tmp_path: Path, words: ChunkTokenizer) -> None:
    deleted = review({"summary": "A."}, invitations=["V/Submission1/-/Deleted_Official_Review"])
    assert reviews(tmp_path, words, deleted).rules() == {"other_reply": 1}
