from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedtext.largefedbench.raw_pages import RawPage, RawPageError
from fedtext.largefedbench.sources import biorxiv, openreview, pubmed, scitldr
from fedtext.largefedbench.turns import Turn
from tests.refusals import refuses

from .pages import OPENREVIEW, PREPRINTS, PUBMED, SCITLDR, preprint, preprint_page


def page(tmp_path: Path, data: bytes, name: str) -> RawPage:
    path = tmp_path / name.replace("/", "_")
    path.write_bytes(data)
    return RawPage(name, path)


def rows(tmp_path: Path, rows: list[object], server: str = "biorxiv") -> list[Turn]:
    items = biorxiv.parse(page(tmp_path, preprint_page(rows), f"{server}/0.json"))
    return [item for item in items if isinstance(item, Turn)]


def test_preprints_by_kind(tmp_path: Path) -> None:
    assert [(t.client_id, t.kind) for t in rows(tmp_path, list(PREPRINTS))] == [
        ("2024-05-02.biorxiv.10.1101/1", "speech"),
        ("2024-06-01.biorxiv.10.1101/1.v2", "later_version"),
        ("2024-05-02.biorxiv.10.1101/2", "licence_not_kept"),
        ("2024-05-02.biorxiv.10.1101/3", "empty_abstract"),
        ("2024-05-02.biorxiv.10.1101/4", "withdrawn"),
        ("2024-05-02.biorxiv.10.1101/5", "speech"),
        ("malformed.biorxiv/0.json.6", "malformed_row"),
    ]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"title": "Opioid withdrawal alters synaptic plasticity in mice"}, "speech"),
        ({"title": "Alcohol withdrawal and sleep"}, "speech"),
        ({"title": "Safety of withdrawn drugs"}, "speech"),
        ({"abstract": "Participants who had withdrawn from the study were asked again."}, "speech"),
        ({"title": "[WITHDRAWN] On bones"}, "withdrawn"),
        ({"title": "WITHDRAWN: On bones"}, "withdrawn"),
        ({"abstract": "Withdrawal StatementThe paper had a fault."}, "withdrawn"),
        ({"abstract": " The authors have withdrawn this manuscript."}, "withdrawn"),
        ({"abstract": "This preprint has been withdrawn by its author."}, "withdrawn"),
        ({"title": "WITHDRAWN: On bones", "license": "../../../escaped"}, "licence_not_kept"),
    ],
)
def test_only_a_withdrawal_notice_is_withdrawn(tmp_path: Path, change: dict[str, object], kind: str) -> None:
    (turn,) = rows(tmp_path, [preprint("10.1101/9") | change])
    assert turn.kind == kind


def test_version_may_be_a_number_and_the_server_is_the_directory(tmp_path: Path) -> None:
    (turn,) = rows(tmp_path, [preprint("10.1101/9", version=1)], "medrxiv")
    assert (turn.kind, turn.source) == ("speech", "medrxiv")
    assert turn.url == "https://www.medrxiv.org/content/10.1101/9v1"


@pytest.mark.parametrize(
    "change",
    [{"date": "2024-13-01"}, {"date": None}, {"abstract": 7}, {"doi": ""}, {"version": None}, {"title": []}],
)
def test_a_row_of_the_wrong_shape_is_counted(tmp_path: Path, change: dict[str, object]) -> None:
    (turn,) = rows(tmp_path, [preprint("10.1101/9") | change])
    assert turn.kind == "malformed_row"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (preprint_page([], status="no posts found"), "status-instead-of-page"),
        (b"<html>busy</html>", "page-unreadable"),
        (b'{"messages": [{"status": "ok"}]}', "page-unreadable"),
        (b'{"messages": [{"status": "ok"}], "collection": {}}', "page-unreadable"),
        (b"[]", "page-unreadable"),
        (preprint_page([preprint("1")])[:-40], "page-unreadable"),
    ],
)
def test_a_page_that_is_no_page_is_named(tmp_path: Path, data: bytes, code: str) -> None:
    with refuses(code) as caught:
        list(biorxiv.parse(page(tmp_path, data, "biorxiv/0.json")))
    assert isinstance(caught.value, RawPageError)
    assert caught.value.name == "biorxiv/0.json"


def test_pubmed(tmp_path: Path) -> None:
    turns = list(pubmed.parse(page(tmp_path, PUBMED.encode(), "pubmed/0.xml")))
    assert [(t.client_id, t.kind) for t in turns] == [
        ("2024-03-01.pubmed.11", "speech"),
        ("2024-01-01.pubmed.12", "empty_abstract"),
        ("malformed.pubmed/0.xml.2", "malformed_row"),
    ]
    assert [p.text for p in turns[0].paragraphs] == ["We looked at bones.", "They grew."]


def pubmed_article(issue: str, article: str = "", entrez: str = "", pubmed: str = "") -> str:
    """An article with these contents of its date elements; none where empty."""
    history = [("entrez", entrez), ("pubmed", pubmed), ("received", "<Year>2020</Year>")]
    dates = "".join(f'<PubMedPubDate PubStatus="{status}">{date}</PubMedPubDate>' for status, date in history if date)
    electronic = f"<ArticleDate>{article}</ArticleDate>" if article else ""
    return (
        "<PubmedArticle><MedlineCitation><PMID>7</PMID><Article><Journal><JournalIssue>"
        f"<PubDate>{issue}</PubDate></JournalIssue></Journal>{electronic}</Article></MedlineCitation>"
        f"<PubmedData><History>{dates}</History></PubmedData></PubmedArticle>"
    )


def day(year: int, month: int | str, day: int) -> str:
    return f"<Year>{year}</Year><Month>{month}</Month><Day>{day}</Day>"


@pytest.mark.parametrize(
    ("article", "date"),
    [
        (pubmed_article(day(2025, "Mar", 1), entrez=day(2024, 11, 20)), "2024-11-20"),
        (pubmed_article(day(2025, "Mar", 1), pubmed=day(2024, 11, 21), entrez=day(2024, 11, 22)), "2024-11-21"),
        (pubmed_article(day(2025, "Mar", 1), article=day(2024, 10, 5), entrez=day(2024, 11, 20)), "2024-10-05"),
        (pubmed_article(day(2024, "Oct", 1), article=day(2024, 12, 5), entrez=day(2024, 12, 6)), "2024-10-01"),
        (pubmed_article("<MedlineDate>2024 Nov-Dec</MedlineDate>", entrez=day(2024, 12, 2)), "2024-12-02"),
        (pubmed_article("<MedlineDate>2024 Nov-Dec</MedlineDate>"), ""),
        (pubmed_article("<Year>2025</Year>", article=day(2025, "Sep", 2), entrez=day(2025, 9, 17)), "2025-09-02"),
        (pubmed_article("<Year>2024</Year><Month>Sep</Month>", entrez=day(2024, 9, 17)), "2024-09-17"),
        (pubmed_article("<Year>2024</Year><Month>Aug</Month>", entrez=day(2024, 9, 17)), "2024-08-01"),
        (pubmed_article("<Year>1998</Year>", entrez=day(2003, 9, 17)), "1998-01-01"),
        (pubmed_article("<Year>9999</Year>", entrez=day(2003, 9, 17)), "2003-09-17"),
        (pubmed_article(day(2024, 2, 30), entrez=day(2024, 3, 4)), "2024-03-04"),
    ],
)
def test_a_pubmed_article_is_dated_by_the_first_day_it_was_public(tmp_path: Path, article: str, date: str) -> None:
    xml = f"<PubmedArticleSet>{article}</PubmedArticleSet>".encode()
    (turn,) = pubmed.parse(page(tmp_path, xml, "pubmed/0.xml"))
    assert turn.date == date


def real_articles(shared: Path, file: str) -> dict[str, Turn]:
    name = f"pubmed/{file}.xml"
    turns = pubmed.parse(RawPage(name, shared / "raw_pages" / name))
    return {turn.url.split("/")[-2]: turn for turn in turns if isinstance(turn, Turn) and turn.url}


@pytest.mark.shared
def test_a_retracted_paper_is_no_client(shared: Path) -> None:
    kinds = {pmid: turn.kind for pmid, turn in real_articles(shared, "netsynergy_pubmed21n1005").items()}
    assert kinds.pop("31541003") == "retracted"
    assert set(kinds.values()) <= {"speech", "empty_abstract"}


def test_the_notice_of_a_retraction_is_no_client(tmp_path: Path) -> None:
    article = pubmed_article(day(2024, 1, 2)).replace(
        "</Article>",
        "<Abstract><AbstractText>We retract.</AbstractText></Abstract><PublicationTypeList><PublicationType>"
        "Retraction of Publication</PublicationType></PublicationTypeList></Article>",
    )
    xml = f"<PubmedArticleSet>{article}</PubmedArticleSet>".encode()
    assert [turn.kind for turn in pubmed.parse(page(tmp_path, xml, "pubmed/0.xml"))] == ["retraction_notice"]


@pytest.mark.shared
def test_a_year_alone_does_not_outdate_a_days_date(shared: Path) -> None:
    assert real_articles(shared, "radar_pubmed-efetch")["40964672"].date == "2025-09-02"


@pytest.mark.shared
def test_formulas_stay_out_of_a_real_abstract(shared: Path) -> None:
    turn = real_articles(shared, "biopython_pubmed6")["30108519"]
    text = " ".join(p.text for p in turn.paragraphs if p.kind == "spoken")
    assert "maximal oxygen uptake 67.6 ± 4.1" in text
    assert "m a x" not in text
    assert "V . O 2 m a x" in [p.text for p in turn.paragraphs if p.kind == "formula"]


def test_marks_of_formulas_are_counted_and_left_out(tmp_path: Path) -> None:
    abstract = "<Abstract><AbstractText>It rose ([Formula: see text]) by [Formula: see text].</AbstractText></Abstract>"
    article = pubmed_article(day(2024, 1, 2)).replace("</Article>", f"{abstract}</Article>")
    xml = f"<PubmedArticleSet>{article}</PubmedArticleSet>".encode()
    (turn,) = pubmed.parse(page(tmp_path, xml, "pubmed/0.xml"))
    assert [(p.kind, p.text) for p in turn.paragraphs] == [
        ("formula", "[Formula: see text]"),
        ("formula", "[Formula: see text]"),
        ("spoken", "It rose by."),
    ]


V2_REVIEW: dict[str, Any] = {
    "id": "v2",
    "invitations": [
        "ICLR.cc/2024/Conference/Submission7/-/Official_Review",
        "ICLR.cc/2024/Conference/-/Edit",
    ],
    "cdate": 1698000000000,
    "content": {
        "summary": {"value": "The paper studies bridges."},
        "soundness": {"value": "3 good"},
        "strengths": {"value": "It is careful."},
        "weaknesses": {"value": "It is long."},
        "questions": {"value": "Why rivers?"},
        "rating": {"value": "6: marginally above the acceptance threshold"},
    },
}


def openreview_page(tmp_path: Path, where: str, reviews: list[Any], **content: Any) -> list[Turn]:
    notes = {"notes": [{"forum": "f7", "content": content, "details": {where: reviews}}]}
    items = openreview.parse(page(tmp_path, json.dumps(notes).encode(), "openreview/0.json"))
    return [item for item in items if isinstance(item, Turn)]


@pytest.mark.parametrize("where", ["directReplies", "replies"])
def test_openreview_v2(tmp_path: Path, where: str) -> None:
    comment = {**V2_REVIEW, "invitations": ["ICLR.cc/2024/Conference/Submission7/-/Official_Comment"]}
    content = {"title": {"value": "Bridges"}, "primary_area": {"value": "engineering"}}
    turn, other = openreview_page(tmp_path, where, [V2_REVIEW, comment], **content)
    assert other.kind == "other_reply"
    assert (turn.kind, turn.title, turn.date) == ("speech", "Bridges", "2023-10-22")
    assert turn.label == "engineering | 6: marginally above the acceptance threshold"
    said = " ".join(p.text for p in turn.paragraphs)
    assert said == "The paper studies bridges. It is careful. It is long. Why rivers?"


def test_a_misshapen_review_takes_no_other_with_it(tmp_path: Path) -> None:
    turns = openreview_page(tmp_path, "directReplies", [V2_REVIEW, {**V2_REVIEW, "cdate": None}])
    assert [turn.kind for turn in turns] == ["speech", "malformed_row"]


@pytest.mark.shared
def test_a_real_form_of_2018(shared: Path, tmp_path: Path) -> None:
    """The crawler's file holds the notes as API v1 sent them, under names of its own."""
    crawled = json.loads((shared / "raw_pages/openreview_crawled/erikbird_example_output.json").read_text("utf-8"))
    notes = [
        {**note, "details": {"directReplies": note["notes"]}} for venue in crawled for note in venue["submissions"]
    ]
    data = json.dumps({"notes": notes}).encode()
    turns = [item for item in openreview.parse(page(tmp_path, data, "openreview/0.json")) if isinstance(item, Turn)]
    assert {turn.kind for turn in turns} == {"speech", "other_reply"}
    assert " | 4: Top 50% of accepted papers, clear accept" in {turn.label for turn in turns}


def test_openreview(tmp_path: Path) -> None:
    items = openreview.parse(page(tmp_path, json.dumps(OPENREVIEW).encode(), "openreview/0.json"))
    turns = [item for item in items if isinstance(item, Turn)]
    assert [(t.client_id, t.kind, t.label) for t in turns] == [
        ("2022-10-17.openreview.r1", "speech", "Theory | 6: marginally above"),
        ("other.openreview/0.json.0.c1", "other_reply", ""),
        ("malformed.openreview/0.json.1", "malformed_row", ""),
    ]
    assert " ".join(p.text for p in turns[0].paragraphs) == "The paper studies ferries. It is clear."


def test_scitldr(tmp_path: Path) -> None:
    turns = list(scitldr.parse(page(tmp_path, SCITLDR.encode(), "scitldr/dev.jsonl")))
    assert [t.kind for t in turns] == ["speech", "malformed_row", "malformed_row", "malformed_row"]
    assert turns[0].client_id == "undated.scitldr.p1"


def test_only_a_line_feed_ends_a_line_of_scitldr(tmp_path: Path) -> None:
    lines = [f'{{"paper_id": "p{n}", "title": "T", "abstract": "One\u2028two\u0085three."}}' for n in range(2)]
    turns = list(scitldr.parse(page(tmp_path, "\r\n".join([*lines, ""]).encode(), "scitldr/dev.jsonl")))
    assert [(t.client_id, t.kind) for t in turns] == [
        ("undated.scitldr.p0", "speech"), ("undated.scitldr.p1", "speech")
    ]  # fmt: skip


def test_a_review_s_label_is_two_tasks() -> None:
    label = "Generative models | 8: accept, good paper"
    assert openreview.coded_label(label, ["area"]) == "Generative_models"
    assert openreview.coded_label(label, ["recommendation"]) == "8:_accept_good_paper"
    assert openreview.coded_label(label, ["area", "recommendation"]) == "Generative_models\t8:_accept_good_paper"
    assert openreview.coded_label("Theory | ", ["area"]) == "Theory"
    assert openreview.coded_label("Theory | ", ["recommendation"]) is None
    assert openreview.coded_label(None, ["area"]) is None
