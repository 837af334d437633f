"""What a source may write otherwise: other spellings, elements and marks, each held by its kind and not by a list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.cleaning.abstracts import clean_abstract, unknown_markup
from fedtext.largefedbench.counts import HIDDEN, SourceCounts
from fedtext.largefedbench.snapshot import provenance, read_table
from fedtext.largefedbench.sources.notices import is_no_abstract, notice
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base

from .pages import US_DATE, preprint, preprint_page
from .test_counted_and_named import pubmed, read, review, reviews, spoken, uk, write

# --- takedown and unknown names


def test_a_name_on_the_takedown_list_is_shown_nowhere(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    page = raw / f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH3001.htm"
    text = page.read_text("utf-8").replace(
        "  There was no objection.", "  Mrs. Keller: I rise.\n  The Umpire. Play on."
    )
    page.write_text(text, "utf-8")
    params = conf_base(LargeFedBench, snapshot="a", raw_dir=str(raw))
    before = build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path / "before")
    assert provenance(before)["sources"]["us"]["unknown"]["label"] == {"Mrs. Keller": 1, "The Umpire": 1}
    write(raw / "takedown.txt", "speaker: us/K000001\n")
    after = build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path / "after")
    assert provenance(after)["sources"]["us"]["unknown"]["label"] == {HIDDEN: 1, "The Umpire": 1}
    for path in after.rglob("*"):
        if path.suffix in {".md", ".json", ".sha256", ".txt"}:
            assert "Keller" not in path.read_text("utf-8"), path


def test_what_a_taken_down_turn_holds_of_unknown_names_is_in_no_count(
    raw: Path, tmp_path: Path, words: ChunkTokenizer
) -> None:
    page = raw / f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH3001.htm"
    page.write_text(page.read_text("utf-8").replace("Mr. McBRIDE.", "Mr. McBRIDE. Yes.\n  Sir Oak. He"), "utf-8")
    write(raw / "takedown.txt", "speaker: us/Mr. McBRIDE\n")
    params = conf_base(LargeFedBench, snapshot="a", raw_dir=str(raw))
    facts = provenance(build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path / "o"))
    assert "label" not in facts["sources"]["us"]["unknown"]
    assert "McBRIDE" not in json.dumps(facts)


def test_ids_and_titles_hide_no_others() -> None:
    counts = SourceCounts()
    for name in ("Mr. Oak", "no name, affiliation 7712", "The Lord Elm", "no name, affiliation 77"):
        counts.note_unknown("label", name)
    counts.hide({"7712", "oak"})
    assert counts.unknown["label"] == {HIDDEN: 2, "The Lord Elm": 1, "no name, affiliation 77": 1}


# --- the chambers


def test_lords_and_westminster_hall_are_configs_of_their_own(tmp_path: Path, words: ChunkTokenizer) -> None:
    said = {"debates": "The Commons sat.", "daylord": "The Lords sat.", "westminster": "The Hall sat."}
    for kind, text in said.items():
        write(tmp_path / f"uk/{kind}2024-05-14a.xml", uk(spoken(1, "Ann Alder", text)))
    snapshot = build_snapshot(conf_base(LargeFedBench, snapshot="a"), words, raw_dir=tmp_path, out_dir=tmp_path / "o")
    texts = {one: read_table(snapshot, one, "clients")["text"].to_pylist() for one in provenance(snapshot)["configs"]}
    assert texts == {
        "congress": ["The Commons sat."], "lords": ["The Lords sat."], "westminster_hall": ["The Hall sat."]
    }  # fmt: skip
    assert provenance(snapshot)["sources"]["uk"]["clients"] == 3


@pytest.mark.parametrize(
    ("notice_text", "speaks"),
    [("[Ms Oak in the chair]", False), ("(Ms Oak in the Chair)", False), ("Ms Oak spoke of the chair.", True)],
)
def test_notices_of_the_chair_in_other_marks(
    tmp_path: Path, words: ChunkTokenizer, notice_text: str, speaks: bool
) -> None:
    text = f'<speech nospeaker="true"><p>{notice_text}</p></speech>'
    write(tmp_path / "uk/debates2024-05-14a.xml", uk(text, spoken(1, "Ms Oak", "The pier fell.")))
    assert bool(read(tmp_path, "uk", words).clients) == speaks


def test_what_stands_between_the_elements_of_a_page_is_counted_and_named(tmp_path: Path, words: ChunkTokenizer) -> None:
    odd = spoken(2, "Bea Birch", "Two.").replace("</speech>", "<quote>Three words here</quote>and more</speech>")
    page = uk(spoken(1, "Ann Alder", "One."), odd, "<weird>Lost words</weird>", "stray text")
    write(tmp_path / "uk/debates2024-05-14a.xml", page)
    found = read(tmp_path, "uk", words)
    assert [one.text for one in found.clients] == ["One.", "Two."]
    assert found.rules() == {"unknown_element": 2}
    assert found.counts.unknown == {
        "element": {"quote": 1, "text outside any element": 1, "text outside any paragraph": 1, "weird": 1}
    }


@pytest.mark.parametrize("name", ["An hon. Member", "A Member", "Hon. Members", "Several hon. Members"])
def test_british_crowds(tmp_path: Path, words: ChunkTokenizer, name: str) -> None:
    write(tmp_path / "uk/debates2024-05-14a.xml", uk(spoken(1, name, "Boo.")))
    assert not read(tmp_path, "uk", words).clients


def test_names_after_several_places_go(tmp_path: Path, words: ChunkTokenizer) -> None:
    text = "I thank the Members for Bath (Ann Oak), for Ferry (Tom Elm) and for York (Bea Ash) for it (a lot)."
    write(tmp_path / "uk/debates2024-05-14a.xml", uk(spoken(1, "Ann Alder", text)))
    (one,) = read(tmp_path, "uk", words).clients
    assert one.text == "I thank the Members for Bath, for Ferry and for York for it (a lot)."


# --- Canada


@pytest.mark.parametrize("name", ["Acting Speaker", "Mr. Speaker", "The Law Clerk", "The Usher of the Black Rod"])
def test_canadian_officers(raw: Path, words: ChunkTokenizer, name: str) -> None:
    page = raw / "ca/HAN096-E.XML.xml"
    page.write_text(page.read_text("utf-8-sig").replace("Hon. Anne Roy (Minister of Ferries, Lib.)", name), "utf-8")
    assert name not in {one.speaker for one in read(raw, "ca", words).clients}


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("<B>An hon. member:</B> Not", "<B>Mr. Elm</B>. Not", "Mr. Elm"),
        ("<B>An hon. member:</B> Not", "Mr. Elm: Not", "Mr. Elm"),
        ("</HansardBody>", "</HansardBody><Appendix>Words outside</Appendix>", "Appendix"),
    ],
)
def test_a_canadian_label_or_element_that_is_not_known_is_named(
    raw: Path, words: ChunkTokenizer, before: str, after: str, name: str
) -> None:
    page = raw / "ca/HAN096-E.XML.xml"
    text = page.read_text("utf-8-sig")
    assert before in text
    page.write_text(text.replace(before, after, 1), "utf-8")
    found = read(raw, "ca", words).counts.unknown
    assert any(name in names for names in found.values())


# --- PubMed


@pytest.mark.parametrize(
    ("page", "rules", "unknown"),
    [
        (pubmed("<Abstract><AbstractText>The boats.</AbstractText></Abstract>", types="RETRACTED PUBLICATION"), {"retracted": 1}, {}),
        (pubmed("<Abstract><AbstractText>Se contaron barcos en dos rios y eran pocos.</AbstractText></Abstract>"), {"another_language": 1}, {}),
        (pubmed("<Abstract>Bare text.<AbstractText>The boats.</AbstractText></Abstract>"), {}, {"element": {"text outside any element": 1}}),
        (pubmed("<Abstract><AbstractText>The boats.</AbstractText><Boat>Lost.</Boat></Abstract>"), {}, {"element": {"Boat": 1}}),
        (pubmed("<Abstract><AbstractText>The boats.</AbstractText></Abstract>", '<CommentsCorrectionsList><CommentsCorrections RefType="NewNotice"/></CommentsCorrectionsList>'), {}, {"notice": {"NewNotice": 1}}),
        (pubmed("<Abstract><AbstractText>[Retraction of: Boats.]</AbstractText></Abstract>"), {"retracted": 1}, {}),
    ],
)  # fmt: skip
def test_pubmed_otherwise(
    tmp_path: Path, words: ChunkTokenizer, page: str, rules: dict[str, int], unknown: dict[str, dict[str, int]]
) -> None:
    write(tmp_path / "pubmed/p.xml", page)
    found = read(tmp_path, "pubmed", words)
    assert found.rules() == rules
    assert found.counts.unknown == unknown


# --- preprints and reviews


def test_a_count_may_be_any_number_and_a_part_that_is_not_known_is_named(tmp_path: Path, words: ChunkTokenizer) -> None:
    page = preprint_page([preprint("10.1101/1")]).replace(b'"count": 1', b'"count": 31.0')
    write(tmp_path / "biorxiv/p.json", json.dumps(json.loads(page) | {"more": "rows"}))
    found = read(tmp_path, "biorxiv", words)
    assert "holds 31.0 rows and holds 1" in found.losses["biorxiv/p.json"]
    assert found.counts.unknown == {"element": {"more": 1}}


def test_a_field_with_readers_of_its_own_stays_out(tmp_path: Path, words: ChunkTokenizer) -> None:
    one = review({"summary": "A.", "weaknesses": "B b."})
    one["content"]["weaknesses"]["readers"] = ["V/Program_Chairs"]
    found = reviews(tmp_path, words, one)
    assert [client.text for client in found.clients] == ["A."]
    assert found.counts.removed["not_public_field"] == [1, 2]


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Boats", "Due to a dispute over authorship, this preprint is no longer available."),
        ("Boats", "This submission has been removed at the request of the author."),
        ("Boats", "The editors have taken down this paper after an inquiry."),
        ("Boats", "We, the authors, hereby rescind this preprint."),
        ("Boats", "At the request of all authors the article was pulled from the server."),
        ("Boats", "The authors do not wish this work to be cited as reference for the project."),
        ("On boats (withdrawn)", "We count boats."),
        ("On boats [RETRACTED]", "We count boats."),
        ("Boats", "In the version of this article initially published, the number was wrong."),
    ],
)
def test_notices_in_other_words(title: str, text: str) -> None:
    assert notice(title, text)
    assert not notice("Boats", f"We count boats. {'The rivers are wide. ' * 40} The data were withdrawn.")


@pytest.mark.parametrize(
    "text", ["None provided", "Not available", "See PDF", "See full text.", "undefined", "xxx", "n/d", "0",
             "This article has no abstract.", "The abstract is available in the PDF."]
)  # fmt: skip
def test_other_words_for_no_abstract(text: str) -> None:
    assert is_no_abstract(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("It fell.\n\nAuthor SummaryBoats sail.", "It fell. Boats sail."),
        ("It fell.\n\nStatement of SignificanceBoats sail.", "It fell. Boats sail."),
        ("It fell.\n\nCore message of paperprg-1 is a gene.", "It fell. prg-1 is a gene."),
        ("BackgroundE. coli grows. ResultsmRNA fell. Methods12 mice.", "E. coli grows. mRNA fell. 12 mice."),
        ("Results and discussionBoats sail.", "Boats sail."),
        ("n {greater than or equal to} 3, CD4{+} cells", "n ≥ 3, CD4+ cells"),
        ("[beta]-catenin and [tau]", "β-catenin and τ"),
        ("<h3>Aim</h3>To row.", "Aim To row."),
    ],
)
def test_more_markup(text: str, left: str) -> None:
    assert clean_abstract([text], "biorxiv").text == left


@pytest.mark.parametrize("mark", ["{zork one}", "\\textit", "$x + 1$", "[ImgTitle]", "_HPS_FORMAT_FIGEXP"])
def test_more_markup_that_is_named(mark: str) -> None:
    assert unknown_markup(clean_abstract([f"Boats {mark} sail"], "biorxiv").text, "biorxiv") == [mark]


def test_a_page_full_of_tags_adds_up(tmp_path: Path, words: ChunkTokenizer) -> None:
    rows = [preprint("10.1101/1") | {"abstract": "<h4>Aim</h4><p>Row.</p>" * 50}]
    write(tmp_path / "biorxiv/p.json", preprint_page(rows))
    assert len(read(tmp_path, "biorxiv", words).clients) == 1
