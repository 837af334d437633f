"""What one page retracts, withdraws or deletes is no client, on whichever page of its source the text stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.snapshot import provenance, read_table
from fedtext.largefedbench.sources.pubmed import pubmed_rows
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base
from tests.refusals import refuses

from .pages import preprint, preprint_page

Found = tuple[set[str], dict[str, int]]  # the addresses of the clients, and turns left out by rule


def built(root: Path, source: str, pages: dict[str, bytes], words: ChunkTokenizer, **changes: object) -> Found:
    """Return what becomes of a source's pages, a shard each."""
    for name, data in pages.items():
        path = root / "raw" / source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    params = conf_base(LargeFedBench, {"snapshot": "a", "shard_bytes": 1} | changes)
    snapshot = build_snapshot(params, words, raw_dir=root / "raw", out_dir=root / "out")
    facts = provenance(snapshot)
    rows = [row for config in facts["configs"] for row in read_table(snapshot, config, "clients").to_pylist()]
    left_out = facts["sources"][source]["left_out"]
    return {row["url"] for row in rows}, {rule: counts["turns"] for rule, counts in left_out.items()}


def orders(told: bytes, text: bytes, suffix: str) -> Iterator[dict[str, bytes]]:
    """Yield the two pages in either order of their names."""
    for first, second in ((told, text), (text, told)):
        yield {f"a{suffix}": first, f"b{suffix}": second}


def article(pmid: int, text: str, said: str = "", dated: bool = True) -> str:
    date = "<PubDate><Year>2024</Year></PubDate>" if dated else ""
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><Journal><JournalIssue>{date}</JournalIssue>"
        f"</Journal><ArticleTitle>On boats</ArticleTitle><Abstract><AbstractText>{text}</AbstractText></Abstract>"
        f"</Article><CommentsCorrectionsList>{said}</CommentsCorrectionsList></MedlineCitation></PubmedArticle>"
    )


def pubmed_page(*elements: str) -> bytes:
    return f"<PubmedArticleSet>{''.join(elements)}</PubmedArticleSet>".encode()


def pubmed_address(pmid: int) -> str:
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"


def says(of: str, pmid: int = 9) -> str:
    return f'<CommentsCorrections RefType="{of}"><PMID>{pmid}</PMID></CommentsCorrections>'


BOATS = article(1001, "We counted the boats on two rivers.")
OTHER = article(1002, "We counted the piers on two lakes.")


@pytest.mark.parametrize(
    ("told", "rules"),
    [
        ("<DeleteCitation><PMID>7</PMID><PMID>1001</PMID></DeleteCitation>", {"deleted_citation": 3}),
        (article(1001, "We counted the boats.", says("RetractionIn")), {"retracted": 2}),
        (article(1001, "We counted the boats.", says("RetractionIn"), dated=False), {"malformed_row": 1, "retracted": 1}),
        (article(1001, "We counted the boats.", says("ExpressionOfConcernIn")), {"expression_of_concern": 2}),
        (article(1001, "The authors have withdrawn this article."), {"withdrawn": 2}),
        (article(1003, "We said it.", says("RetractionOf", 1001)), {"retraction_notice": 1, "retracted": 1}),
        (article(1003, "We said it.", says("ErratumFor", 1001)), {"correction_notice": 1}),
        (article(1003, "We said it.", says("CommentOn", 1001)), {}),
    ],
)  # fmt: skip
def test_pubmed(told: str, rules: dict[str, int], tmp_path: Path, words: ChunkTokenizer) -> None:
    for number, pages in enumerate(orders(pubmed_page(told), pubmed_page(BOATS, OTHER), ".xml")):
        kept, left_out = built(tmp_path / str(number), "pubmed", pages, words)
        assert left_out == rules
        assert (pubmed_address(1001) in kept) == (rules in ({}, {"correction_notice": 1}))
        assert pubmed_address(1002) in kept
        own = {str(row.client_id).rpartition(".")[2] for row in pubmed_rows(tmp_path / str(number) / "raw" / "pubmed")}
        assert {pubmed_address(int(pmid)) for pmid in own} == kept


def review(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"r{number}", "invitation": "V/Paper1/-/Official_Review", "cdate": 1666000000000,
        "content": {"summary": f"The paper counts the boats on river {number}."}, **more,
    }  # fmt: skip


def note(*reviews: dict[str, Any], **more: Any) -> bytes:
    content = {"title": "On boats"} | more.pop("content", {})
    one = {"id": "f1", "forum": "f1", "content": content, "details": {"replies": list(reviews)}, **more}
    return json.dumps({"notes": [one]}).encode()


def reviews_of(*numbers: int) -> set[str]:
    return {f"https://openreview.net/forum?id=f1&noteId=r{number}" for number in numbers}


OTHER_NOTE = {"forum": "f2", "content": {"title": "On piers"}, "details": {"replies": [review(3)]}}
ALONE = {"notes": [{"id": "r1", "forum": "f1", "ddate": 1666000000001}, OTHER_NOTE]}


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (note(review(1, ddate=1666000000001)), {2}),
        (note(review(1, readers=["V/Program_Chairs"])), {2}),
        (json.dumps(ALONE).encode(), {2}),
        (note(ddate=1666000000001), set()),
        (note(review(1), ddate=1666000000001), set()),
        (note(content={"venueid": {"value": "ICLR.cc/2024/Conference/Withdrawn_Submission"}}), {1, 2}),
        (note(review(1)), {1, 2}),
    ],
)
def test_openreview(told: bytes, kept: set[int], tmp_path: Path, words: ChunkTokenizer) -> None:
    both = {"notes": [*json.loads(note(review(1), review(2)))["notes"], OTHER_NOTE]}
    for number, pages in enumerate(orders(told, json.dumps(both).encode(), ".json")):
        found, _ = built(tmp_path / str(number), "openreview", pages, words)
        assert found == reviews_of(*kept) | {"https://openreview.net/forum?id=f2&noteId=r3"}


def test_a_preprint_is_withdrawn_by_a_later_version_of_any_licence(tmp_path: Path, words: ChunkTokenizer) -> None:
    boats, piers = preprint("10.1101/1"), preprint("10.1101/2")
    gone = preprint("10.1101/1", version="2", license="cc_no", abstract="This article has been withdrawn.")
    for number, pages in enumerate(orders(preprint_page([gone]), preprint_page([boats, piers]), ".json")):
        root = tmp_path / str(number)
        kept, left_out = built(root, "biorxiv", pages, words)
        assert kept == {"https://www.biorxiv.org/content/10.1101/2v1"}
        assert left_out == {"licence_not_kept": 1, "withdrawn": 1}
        published, _ = built(root, "biorxiv", pages, words, snapshot="b", cleaning="published")
        assert published == kept | {"https://www.biorxiv.org/content/10.1101/1v1"}


def test_a_retracted_text_is_no_original_of_a_near_duplicate(tmp_path: Path, words: ChunkTokenizer) -> None:
    gone = preprint("10.1101/1", version="2", abstract="This article has been withdrawn.")
    rows = [
        preprint("10.1101/1", abstract="We count the boats."),
        preprint("10.1101/2", abstract="We count the boats."),
    ]
    pages = {"a.json": preprint_page(rows), "b.json": preprint_page([gone])}
    kept, left_out = built(tmp_path, "biorxiv", pages, words, near_duplicates="drop")
    assert kept == {"https://www.biorxiv.org/content/10.1101/2v1"}
    assert left_out == {"withdrawn": 2}


def test_a_config_of_which_every_text_is_retracted_is_none(tmp_path: Path, words: ChunkTokenizer) -> None:
    deleted = "<DeleteCitation><PMID>1001</PMID></DeleteCitation>"
    pages = {"a.xml": pubmed_page(BOATS), "b.xml": pubmed_page(deleted)}
    with refuses("no-client-left") as caught:
        built(tmp_path, "pubmed", pages, words, near_duplicates="drop")
    assert '"deleted_citation": {"turns": 2' in str(caught.value)
    (tmp_path / "raw" / "biorxiv").mkdir()
    kept, _ = built(tmp_path, "biorxiv", {"a.json": preprint_page([preprint("10.1101/1")])}, words)
    assert kept == {"https://www.biorxiv.org/content/10.1101/1v1"}
    assert not (tmp_path / "out" / "a" / "pubmed").exists()
