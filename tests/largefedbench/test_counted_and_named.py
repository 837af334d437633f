"""Every element, row and file is kept, left out with a reason, or unread by name; what no rule knows is named."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.cleaning.abstracts import clean_abstract, unknown_markup
from fedtext.largefedbench.clients import Client
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.raw_pages import regular
from fedtext.largefedbench.shards import ShardTask, _clients, _turns
from fedtext.largefedbench.snapshot import MANIFEST, provenance, verify
from fedtext.largefedbench.sources import SOURCES, raw_pages, unread_files
from fedtext.largefedbench.sources.notices import is_no_abstract, notice
from fedtext.largefedbench.takedown import read_takedown
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.largefedbench.turns import UniqueIds
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base
from tests.refusals import refuses

from .pages import PUBMED, US_DATE, US_HOUSE, US_MODS, preprint, preprint_page


class Read(NamedTuple):
    """What became of a raw folder's source."""

    clients: list[Client]
    counts: SourceCounts
    losses: dict[str, str]

    def rules(self) -> dict[str, int]:
        return {rule: turns for rule, (turns, _) in self.counts.left_out.items()}


def read(raw: Path, source: str, words: ChunkTokenizer) -> Read:
    """Read one source of a raw folder as a build does, and check that the sums agree."""
    params = conf_base(LargeFedBench, on_bad_page="continue", raw_dir=str(raw))
    counts, bad = SourceCounts(), list[tuple[str, str]]()
    task = ShardTask(source, SOURCES[source].config, tuple(raw_pages(raw, SOURCES[source])), raw, params, words)
    turns = _turns(SOURCES[source], task, counts, bad, {})
    clients = list(_clients(turns, params, counts, read_takedown(None)))
    counts.check(source)
    unread = {error.name: error.reason for error in unread_files(raw, SOURCES[source])}
    return Read(clients, counts, dict(bad) | unread)


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


# --- what a parser does not ask for


def test_sums_that_do_not_agree_are_an_error() -> None:
    counts = SourceCounts(turns=2, words=10, clients=1, words_kept=4)
    with refuses("counts-do-not-add-up"):
        counts.check("us")
    counts.leave_out("chair", 6)
    counts.check("us")


def test_counts_survive_a_shard() -> None:
    counts = SourceCounts()
    counts.note_unknown("label", "The Umpire")
    counts.note_unknown("label", "x" * 1000)
    both = SourceCounts.from_dict(json.loads(json.dumps(counts.as_dict())))
    both.add(counts)
    assert both.unknown["label"] == {"The Umpire": 2, "x" * 80: 2}


def test_books_deletions_and_other_elements_of_pubmed_are_counted(tmp_path: Path, words: ChunkTokenizer) -> None:
    more = (
        "<PubmedBookArticle><BookDocument><PMID>2</PMID><Abstract><AbstractText>A chapter.</AbstractText></Abstract>"
        "</BookDocument></PubmedBookArticle><DeleteCitation><PMID>3</PMID><PMID>4</PMID></DeleteCitation>"
        "<Novelty>New words.</Novelty></PubmedArticleSet>"
    )
    write(tmp_path / "pubmed/p.xml", PUBMED.replace("</PubmedArticleSet>", more))
    found = read(tmp_path, "pubmed", words)
    assert found.rules() == {
        "empty_abstract": 1, "malformed_row": 1, "book": 1, "deleted_citation": 2, "unknown_element": 1
    }  # fmt: skip
    assert found.counts.unknown == {"element": {"Novelty": 1}}


def pubmed(inside: str, after: str = "", types: str = "") -> str:
    return (
        "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article><Journal><JournalIssue><PubDate><Year>"
        "2024</Year><Month>05</Month><Day>02</Day></PubDate></JournalIssue></Journal><ArticleTitle>Boats</ArticleTitle>"
        f"{inside}<PublicationTypeList><PublicationType>{types}</PublicationType></PublicationTypeList></Article>{after}"
        "</MedlineCitation></PubmedArticle></PubmedArticleSet>"
    )


ENGLISH = "<Abstract><AbstractText>The boats of two rivers were counted.</AbstractText></Abstract>"
FRENCH = "<Abstract><AbstractText>Les bateaux ont été comptés sur deux fleuves.</AbstractText></Abstract>"


@pytest.mark.parametrize(
    ("page", "rules", "removed"),
    [
        (pubmed(ENGLISH), {}, {}),
        (pubmed(f"{ENGLISH}<Language>fre</Language>"), {}, {}),
        (pubmed(f"{FRENCH}<Language>fre</Language>"), {"another_language": 1}, {}),
        (
            pubmed(ENGLISH, '<OtherAbstract Language="spa"><AbstractText>Se contaron barcos.</AbstractText></OtherAbstract>'),
            {},
            {"other_abstract": 3},
        ),
        (
            pubmed(ENGLISH.replace("</Abstract>", "<CopyrightInformation>© A Press</CopyrightInformation></Abstract>")),
            {},
            {"copyright_notice": 3},
        ),
        (pubmed(ENGLISH, types="Published Erratum"), {"correction_notice": 1}, {}),
        (
            pubmed(ENGLISH, '<CommentsCorrectionsList><CommentsCorrections RefType="ExpressionOfConcernIn"/></CommentsCorrectionsList>'),
            {"expression_of_concern": 1},
            {},
        ),
        (pubmed("<Abstract><AbstractText>[This corrects the article DOI: 10.1/2.]</AbstractText></Abstract>"), {"correction_notice": 1}, {}),
        (pubmed("<Abstract><AbstractText>No abstract available.</AbstractText></Abstract>"), {"empty_abstract": 1}, {}),
    ],
)  # fmt: skip
def test_pubmed(
    tmp_path: Path, words: ChunkTokenizer, page: str, rules: dict[str, int], removed: dict[str, int]
) -> None:
    write(tmp_path / "pubmed/p.xml", page)
    found = read(tmp_path, "pubmed", words)
    assert found.rules() == rules
    assert {rule: n for rule, (_, n) in found.counts.removed.items()} == removed
    assert len(found.clients) == (not rules)


def review(content: dict[str, Any], **more: Any) -> dict[str, Any]:
    wrapped = {name: {"value": value} for name, value in content.items()}
    return {"id": "r", "cdate": 1700000000000, "invitations": ["V/-/Official_Review"], "content": wrapped, **more}


def reviews(tmp_path: Path, words: ChunkTokenizer, *replies: Any, **note: Any) -> Read:
    notes = [{"forum": "f", "content": {"title": {"value": "Boats"}}, "details": {"replies": replies}, **note}]
    write(tmp_path / "openreview/p.json", json.dumps({"notes": notes}))
    return read(tmp_path, "openreview", words)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"summary": "A.", "claims_and_evidence": "B.", "questions_for_authors": "C."}, "A. B. C."),
        ({"paper_summary": "A.", "summary_of_strengths": "B.", "comments_suggestions_and_typos": "C."}, "A. B. C."),
        ({"summary_of_contributions": "A.", "requested_changes": "B."}, "A. B."),
    ],
)
def test_reviews_of_other_forms(tmp_path: Path, words: ChunkTokenizer, content: dict[str, str], text: str) -> None:
    found = reviews(tmp_path, words, review({**content, "overall_recommendation": "4"}))
    assert [(one.text, one.label) for one in found.clients] == [(text, " | 4")]


def test_a_field_that_no_form_has_is_named_and_words_for_the_chairs_stay_out(
    tmp_path: Path, words: ChunkTokenizer
) -> None:
    found = reviews(tmp_path, words, review({"summary": "A.", "poem": "B b.", "confidential_comment": "C."}))
    assert [one.text for one in found.clients] == ["A."]
    assert found.counts.unknown == {"field": {"poem": 1}}
    assert {rule: n for rule, (_, n) in found.counts.removed.items()} == {"unknown_field": 2, "confidential_field": 1}


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"ddate": 1700000100000}, "deleted"),
        ({"readers": ["V/Program_Chairs"]}, "not_public"),
        ({"readers": []}, "not_public"),
        ({"invitations": ["V/Official_Review1/-/Revision"]}, "other_reply"),
    ],
)
def test_a_review_that_may_not_be_read(
    tmp_path: Path, words: ChunkTokenizer, changes: dict[str, Any], rule: str
) -> None:
    found = reviews(
        tmp_path, words, review({"summary": "A."}, **changes), review({"summary": "B."}, readers=["everyone"])
    )
    assert [one.text for one in found.clients] == ["B."]
    assert found.rules() == {rule: 1}


def test_reviews_of_a_deleted_submission_stay_out(tmp_path: Path, words: ChunkTokenizer) -> None:
    assert reviews(tmp_path, words, review({"summary": "A."}), ddate=1).rules() == {"deleted": 1}


def test_a_page_with_fewer_rows_than_it_says_is_a_loss(tmp_path: Path, words: ChunkTokenizer) -> None:
    page = preprint_page([preprint("10.1101/1")]).replace(b'"count": 1', b'"count": 31')
    write(tmp_path / "biorxiv/p.json", page)
    found = read(tmp_path, "biorxiv", words)
    assert found.losses == {"biorxiv/p.json": "says that it holds 31 rows and holds 1"}
    assert len(found.clients) == 1


def test_files_that_are_no_page_are_named(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    write(raw / "uk/debates2024-07-31a.xml.part", "x")
    write(tmp_path / "elsewhere/debates2024-08-01a.xml", "x")
    (raw / "uk/linked").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(raw / "uk/debates2024-08-02a.xml")
    write(raw / "uk/_note.txt", "the ingest's own")
    found = read(raw, "uk", words).losses
    assert set(found) == {"uk/debates2024-07-31a.xml.part", "uk/linked", "uk/debates2024-08-02a.xml"}
    facts = provenance(
        build_snapshot(conf_base(LargeFedBench, snapshot="a"), words, raw_dir=raw, out_dir=tmp_path / "o")
    )
    assert {bad["page"] for bad in facts["bad_pages"]} >= set(found)


def test_names_in_a_zip_by_windows_and_files_that_are_no_granule(tmp_path: Path, words: ChunkTokenizer) -> None:
    day = f"CREC-{US_DATE}"
    path = write(tmp_path / f"us/{day}.zip", b"")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{day}\\mods.xml", US_MODS)
        archive.writestr(f"{day}\\html\\{day}-pt1-PgH3001.htm", US_HOUSE)
        archive.writestr(f"{day}/text/{day}-pt1-PgH3002.htm", US_HOUSE)
        archive.writestr(f"{day}/pdf/{day}.pdf", "%PDF")
    found = read(tmp_path, "us", words)
    assert [one.speaker for one in found.clients] == ["Jane Keller", "Mr. McBRIDE"]
    assert f"us/{day}.zip/{day}/text/{day}-pt1-PgH3002.htm" in found.losses
    assert not [name for name in found.losses if "pdf" in name]


def test_an_empty_zip_is_said_to_be_empty(tmp_path: Path, words: ChunkTokenizer) -> None:
    path = write(tmp_path / f"us/CREC-{US_DATE}.zip", b"")
    zipfile.ZipFile(path, "w").close()
    assert "holds neither mods.xml nor a granule" in read(tmp_path, "us", words).losses[f"us/CREC-{US_DATE}.zip"]


# --- state


def uk(*elements: str) -> str:
    return f'<publicwhip latest="yes">{"".join(elements)}</publicwhip>'


def spoken(number: int, who: str, text: str, p: str = "") -> str:
    return (
        f'<speech id="uk.org.publicwhip/debate/2024-05-14a.1.{number}" speakername="{who}" '
        f'person_id="uk.org.publicwhip/person/{len(who)}"><p {p}>{text}</p></speech>'
    )


IN_THE_CHAIR = '<speech nospeaker="true"><p class="italic">[Mr Tom Cedar in the Chair]</p></speech>'
ORDER, LATER = (
    spoken(3, "Tom Cedar", "Order. Clause 1 is before us."),
    spoken(4, "Tom Cedar", "The pier in my town fell."),
)


@pytest.mark.parametrize(
    ("between", "speaks"),
    [
        ("", False),
        ('<speech nospeaker="true"><p>The Deputy Speaker resumed the Chair.</p></speech>', True),
        ('<speech nospeaker="true"><p>Bill reported, without amendment.</p></speech>', True),
        ("<major-heading>Adjournment</major-heading>", True),
        ("<major-heading>Clause 2 - Piers</major-heading>", False),
        ("<minor-heading>Piers</minor-heading>", False),
        (spoken(9, "Lindsay Hoyle", "Order. We move on."), True),
    ],
)
def test_the_chair_is_left(tmp_path: Path, words: ChunkTokenizer, between: str, speaks: bool) -> None:
    write(tmp_path / "uk/debates2024-05-14a.xml", uk(IN_THE_CHAIR, ORDER, between, LATER))
    found = read(tmp_path, "uk", words)
    assert [one.text for one in found.clients] == (["The pier in my town fell."] if speaks else [])


def test_the_last_revision_counts_wherever_it_lies(tmp_path: Path, words: ChunkTokenizer) -> None:
    write(tmp_path / "uk/debates/W20/debates2024-05-14a.xml", uk(spoken(1, "Ann Alder", "Until June.")))
    write(
        tmp_path / "uk/debates/debates2024-05-14b.xml", uk(spoken(1, "Ann Alder", "Until July.")).replace("14a", "14b")
    )
    found = read(tmp_path, "uk", words)
    assert [one.text for one in found.clients] == ["Until July."]
    assert found.rules() == {"superseded_revision": 1}


def test_a_motion_mark_on_the_speakers_own_words_is_no_motion(tmp_path: Path, words: ChunkTokenizer) -> None:
    own, motion = "This Bill was wanted, and I thank all who rowed.", "That the Bill be read."
    marked = 'pwmotiontext="yes"'
    write(
        tmp_path / "uk/debates2024-05-14a.xml",
        uk(spoken(1, "Ann Alder", own, marked), spoken(2, "Bea Birch", motion, marked)),
    )
    assert [one.text for one in read(tmp_path, "uk", words).clients] == [own]


# --- consent


@pytest.mark.parametrize(
    ("title", "text", "kind"),
    [
        ("Boats", "bioRxiv has withdrawn this article because an author did not consent.", "withdrawn"),
        ("Boats", "The authors have withdrawn their manuscript because of errors.", "withdrawn"),
        ("Withdrawal: Boats", "We count boats.", "withdrawn"),
        ("Boats", "Statement of withdrawal: the authors take back this work.", "withdrawn"),
        ("Boats", "This preprint was removed by bioRxiv.", "withdrawn"),
        ("RETRACTED: Boats", "We count boats.", "retracted"),
        ("Correction to: Boats", "We count boats.", "correction_notice"),
        ("Expression of concern: Boats", "", "expression_of_concern"),
        ("Withdrawal of opioids in mice", "Mice were withdrawn from morphine; the work was hard.", None),
        ("Error correction in codes", "We correct errors. The data were withdrawn from the archive.", None),
    ],
)
def test_notices(title: str, text: str, kind: str | None) -> None:
    assert notice(title, text) == kind


@pytest.mark.parametrize(
    "text", ["NA", "N/A", "n.a.", "-", "", "None.", "No abstract available.", "[Abstract not available]"]
)
def test_no_abstract(text: str) -> None:
    assert is_no_abstract(text)
    assert not is_no_abstract(f"{text} We count boats.")


# --- what is derived from a snapshot


def test_lines_of_the_list_that_match_nobody_are_said_by_number(
    raw: Path, tmp_path: Path, words: ChunkTokenizer, caplog: pytest.LogCaptureFixture
) -> None:
    write(raw / "takedown.txt", "speaker: us/K000001\nid: 2024-05-14.us.pt1-PgH3001.0099\nspeaker: us/Keller\n")
    params = conf_base(LargeFedBench, snapshot="a", raw_dir=str(raw))
    snapshot = build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path / "o")
    assert "nobody in these pages is matched by line 2, 3;" in caplog.text
    facts = (snapshot / "provenance.json").read_text("utf-8")
    assert json.loads(facts)["takedown_lines_that_match_nobody"] == 2
    assert "Keller" not in facts


# --- markup


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("n{ge}3 and p {le} 0.05", "n≥3 and p ≤ 0.05"),
        ("10{superscript 6} cells", "10⁶ cells"),
        ("<p>One.</p><p>Two.</p>", "One. Two."),
        ("GO_SCPLOWRAC_SCPLOWNPA works.", "GRANPA works."),
        ("O_ST_ABSBackgroundC_ST_ABSBoats sail. O_LITwo. C_LIO_LIThree. C_LI", "Boats sail. Two. Three."),
        ("We row. O_FIG SRC=\"x.gif\"> View larger version (47K): org.highwire.dtl.DTLVardef@1c M_FIG C_FIG", "We row."),
        ("METHODS AND RESULTSWe row. Materials and MethodsWe row.", "We row. We row."),
        ("PurposeBoats sail. Main outcome measuresBoats that sank. CONCLUSIONSA boat sank.", "Boats sail. Boats that sank. A boat sank."),
        ("if x <y and z> w then", "if x <y and z> w then"),
        ("We used DesignExpert for it.", "We used DesignExpert for it."),
    ],
)  # fmt: skip
def test_markup_becomes_its_character(text: str, left: str) -> None:
    assert clean_abstract([text], "biorxiv").text == left


@pytest.mark.parametrize(("text", "names"), [("a {zork} b", ["{zork}"]), ("an O_ZORK b", ["O_ZORK"]), ("plain", [])])
def test_markup_that_is_not_known_stays_and_is_named(text: str, names: list[str]) -> None:
    left = clean_abstract([text], "biorxiv").text
    assert left == text
    assert unknown_markup(left, "biorxiv") == names


# --- damage


def test_devices_pipes_and_names_that_are_not_utf8_end_in_a_sentence(
    raw: Path, tmp_path: Path, words: ChunkTokenizer
) -> None:
    (raw / "biorxiv/z.json").symlink_to("/dev/zero")
    os.mkfifo(raw / f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH9.htm")
    os.mkfifo(raw / "us/CREC-2024-05-20.zip")
    write(Path(os.fsdecode(os.fsencode(raw) + b"/ca/\xff\xfe.xml")), "x")
    write(raw / "pubmed/_done.json", '{"query": ' + "[" * 100_000)
    params = conf_base(LargeFedBench, snapshot="a", on_bad_page="continue")
    facts = provenance(build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path / "o"))
    reasons = {bad["page"]: bad["reason"] for bad in facts["bad_pages"]}
    for name in ("biorxiv/z.json", f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH9.htm"):
        assert "neither a file nor a link to one" in reasons[name]
    assert reasons["us/CREC-2024-05-20.zip"] == "neither a file nor a folder"
    assert reasons["ca/\\xff\\xfe.xml"] == "its name is not UTF-8: rename it"
    assert "cannot be read: RecursionError" in reasons["pubmed/_done.json"]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with refuses("not-a-regular-file"):
        regular(tmp_path)


def test_a_granule_of_ten_megabytes_is_refused_for_its_size(tmp_path: Path, words: ChunkTokenizer) -> None:
    day = tmp_path / f"us/CREC-{US_DATE}"
    write(day / "mods.xml", US_MODS)
    write(day / f"html/CREC-{US_DATE}-pt1-PgH3001.htm", US_HOUSE.replace("is old,", "is old, " * 1_300_000))
    (reason,) = [why for name, why in read(tmp_path, "us", words).losses.items() if name.endswith(".htm")]
    assert "larger than 9500000 bytes" in reason


def test_repeated_ids_take_linear_time() -> None:
    ids = UniqueIds()
    found = [ids.unique("a") for _ in range(100_000)]
    assert found[:3] == ["a", "a.copy2", "a.copy3"]
    assert len(set(found)) == len(found)


@pytest.fixture
def snapshot(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> Path:
    return build_snapshot(conf_base(LargeFedBench, snapshot="a"), words, raw_dir=raw, out_dir=tmp_path / "out")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("../other", "manifest-leads-outside"),
        ("/etc/hostname", "manifest-leads-outside"),
        ("README.md", "manifest-lists-twice"),
    ],
)
def test_a_manifest_names_files_of_the_snapshot_once(snapshot: Path, line: str, code: str) -> None:
    with (snapshot / MANIFEST).open("a") as file:
        file.write(f"{'0' * 64}  {line}\n")
    with refuses(code):
        verify(snapshot)


def test_a_dangling_link_in_a_snapshot_is_named(snapshot: Path) -> None:
    (snapshot / "extra").symlink_to("nowhere")
    with refuses("snapshot-holds-no-file"):
        verify(snapshot)


def test_an_unreadable_page_still_stops_a_build(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    (raw / "biorxiv/z.json").symlink_to("/dev/zero")
    with refuses("not-a-regular-file"):
        build_snapshot(
            conf_base(LargeFedBench, snapshot="a", on_bad_page="stop"), words, raw_dir=raw, out_dir=tmp_path / "o"
        )
