"""The real Canadian and US files: nothing lost, nothing left that should have gone, and the scale the issue expects."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from lxml import etree

from fedtext.largefedbench.clients import Client, clients_of
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.raw_pages import Completeness, RawPage
from fedtext.largefedbench.sources import SOURCES, canada, raw_pages, us
from fedtext.largefedbench.turns import Retraction, Turn, Unknown
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base

pytestmark = pytest.mark.shared


US_DAY = "CREC-2005-07-20"  # the day that the counts and the rules here were made on; docs/experiments/largefedbench_counts.md


OTHER_DAY = "CREC-2005-07-20-pt1-Pgnull-2"  # in that package govinfo serves a page of 22 February 1994


def pages(shared: Path, source: str) -> list[RawPage]:
    found = raw_pages(shared / "congress", SOURCES[source])
    return [page for page in found if source != "us" or US_DAY in str(page.path)]


@functools.cache
def read(shared: Path, source: str, **changes: object) -> tuple[list[Client], SourceCounts]:
    counts = SourceCounts()
    turns: list[Turn] = []
    for page in pages(shared, source):
        for item in SOURCES[source].parse(page):
            if isinstance(item, Turn):
                turns.append(item)
            else:
                assert isinstance(item, Completeness | Retraction | Unknown) or OTHER_DAY in item.name, item
    return list(clients_of(turns, conf_base(LargeFedBench, changes), counts)), counts


def characters(text: str) -> int:
    return len("".join(text.split()))


def test_no_character_of_the_us_record_is_lost(shared: Path) -> None:
    (page,) = pages(shared, "us")
    read_by_granule: dict[str, int] = {}
    for turn in (item for item in us.parse(page) if isinstance(item, Turn)):
        granule = turn.client_id.split(".us.")[1].split(".")[0]
        read_by_granule[granule] = read_by_granule.get(granule, 0) + sum(characters(p.text) for p in turn.paragraphs)
    for path in sorted(p for p in (page.path / "html").glob("*.htm") if OTHER_DAY not in p.name):
        text = us.preformatted(path.name, path.read_bytes())
        assert read_by_granule[path.stem.removeprefix("CREC-2005-07-20-")] == characters(text), path.name


def test_no_character_of_the_canadian_record_is_lost(shared: Path) -> None:
    for page in pages(shared, "ca"):
        turns = list(canada.parse(page))
        body = etree.fromstring(page.read()).find("HansardBody")
        whole = "".join(body.itertext())
        speakers = "".join("".join(person.itertext()) for person in body.iter("PersonSpeaking"))
        labels = [
            bold
            for bold in body.iter("B")
            if "".join(bold.itertext()).strip().endswith(":") or (bold.tail or "").startswith(":")
        ]
        outside = sum(characters("".join(label.itertext()).rstrip(": ")) + 1 for label in labels) + characters(speakers)
        assert sum(characters(p.text) for t in turns for p in t.paragraphs) == characters(whole) - outside


@pytest.mark.parametrize("source", ["ca", "us"])
def test_every_word_is_kept_or_counted(shared: Path, source: str) -> None:
    for cleaning in ("clean", "published"):
        clients, counts = read(shared, source, cleaning=cleaning)
        gone = sum(words for _, words in (*counts.left_out.values(), *counts.removed.values()))
        assert counts.words == counts.words_kept + gone
        assert counts.turns == len(clients) + sum(turns for turns, _ in counts.left_out.values())


def test_the_scale_is_the_expected_one(shared: Path) -> None:
    for source, chairs, inside in (("ca", 0.14, 0.010), ("us", 0.36, 0.040)):
        _, counts = read(shared, source)
        share = sum(counts.left_out[kind][0] for kind in ("chair", "collective")) / counts.notes["interventions"]
        assert share == pytest.approx(chairs, abs=0.01)
        structural = {
            "heading",
            "inserted",
            "motion_text",
            "page_mark",
            "procedural_text",
            "rule_line",
            "speaker_label",
            "time_mark",
        }
        spoken = sum(words for rule, (_, words) in counts.removed.items() if rule not in structural | {"language_mark"})
        assert spoken / (spoken + counts.words_kept) == pytest.approx(inside, abs=0.001)


NOISE = {
    "vocative": r"\b(?:Mr\.?|Madam|Mrs\.?|Ms\.?) (?:Deputy |Acting |Assistant )*(?:Speaker|President|Chair(?:man|woman)?)\s*[,.!?]",
    "page mark": r"\[\[|\bPage [SHE]\d",
    "time mark": r"\{time\}|\(\d{4}\)",
    "rule": r"_{3,}|={3,}|-{4,}",
    "bracketed noise": r"[\[(](?:Laughter|Applause|Interruption|Translation|English|Member spoke)",
    "clerk": r"asked and was given permission|ordered to be printed in|clerk (?:will|read|proceeded)|it is so ordered"
    r"|absence of a quorum|lay that motion on the table|Resuming debate\.|Is that agreed\?",
    "time": r"(?:^|[.!?] )I (?:yield|reserve|yield back) (?:the balance of my|my) time\.",
    "label": r"(?:^|[.!?] )(?:Mr|Mrs|Ms)\. [A-Z]{3,}\. |Some hon\. members:|The (?:SPEAKER|PRESIDING OFFICER)\b",
}  # fmt: skip


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("source", ["ca", "us"])
@pytest.mark.parametrize("noise", NOISE)
def test_nothing_of_the_notation_is_left(shared: Path, source: str, noise: str) -> None:
    clients, _ = read(shared, source)
    left = [
        match.group()
        for client in clients
        for match in re.finditer(f".{{0,40}}(?:{NOISE[noise]}).{{0,20}}", client.text)
    ]
    assert left == []


def test_the_published_cleaner_never_sanitises_us_text(shared: Path) -> None:
    clients, counts = read(shared, "us", cleaning="published")
    assert counts.notes["never_sanitised"] == len(clients) > 200
    text = " ".join(client.text for client in clients)
    assert "{time}" in text
    assert "I yield back the balance of my time" in text
    canadian, counts = read(shared, "ca", cleaning="published")
    assert counts.notes["never_sanitised"] / len(canadian) == pytest.approx(0.87, abs=0.01)


def test_ids_are_unique_dated_and_titled(shared: Path) -> None:
    for source in ("ca", "us"):
        clients, _ = read(shared, source)
        assert len({client.client_id for client in clients}) == len(clients)
        assert all(client.client_id.startswith(client.date) and client.title and client.speaker for client in clients)
