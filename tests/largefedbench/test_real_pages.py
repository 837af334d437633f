"""Faults that real pages showed, each on the page that showed it."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from fedtext.largefedbench.clients import Client, clients_of
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.raw_pages import RawPageError, SkippedPageError
from fedtext.largefedbench.sources import SOURCES, raw_pages
from fedtext.largefedbench.turns import Turn
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base

pytestmark = pytest.mark.shared


@functools.cache
def read(raw: Path, source: str, page: str) -> tuple[list[Client], SourceCounts, list[RawPageError]]:
    """The clients of the pages whose name holds `page`, what was counted, and what was named."""
    items = [i for one in raw_pages(raw, SOURCES[source]) if page in one.name for i in SOURCES[source].parse(one)]
    counts = SourceCounts()
    turns = [item for item in items if isinstance(item, Turn)]
    clients = list(clients_of(turns, conf_base(LargeFedBench), counts))
    return clients, counts, [item for item in items if isinstance(item, RawPageError)]


@pytest.fixture
def day(shared: Path) -> list[Client]:
    return read(shared / "congress", "us", "CREC-1997-01-28")[0]


def test_no_speech_of_a_section_is_there_twice(shared: Path, day: list[Client]) -> None:
    long = [client.text for client in day if len(client.text.split()) > 20]
    assert len(long) == len(set(long)) > 60
    left_out = read(shared / "congress", "us", "CREC-1997-01-28")[1].left_out["copy_of_sub_granule"]
    assert left_out[0] == 32
    assert left_out[1] > 40_000


def test_a_name_alone_on_its_line_and_a_misprint(day: list[Client]) -> None:
    speakers = {client.client_id.rpartition("us.")[2]: (client.speaker, client.speaker_id) for client in day}
    assert speakers["pt1-PgS756.0001"] == ("Herb Kohl", "K000305")
    assert speakers["pt1-PgS757.0002"] == ("Mr. DROGAN", "")  # nobody of that name spoke: it is named, not guessed
    assert not [who for who, _ in speakers.values() if "PRESIDING" in who]


def test_nothing_of_the_clerks_is_left(day: list[Client]) -> None:
    text = "\n".join(client.text for client in day)
    for noise in (
        "addressed the Chair",
        "are located in today's Record",
        "There being no objection",
        "As in executive session, I ask",
        r"\(202\) ?\d{3}",
        "hearing has been scheduled",
        "A joint resolution proposing",
    ):
        assert re.findall(noise, text) == [], noise


def test_nothing_is_cut_off_a_sentence(day: list[Client]) -> None:
    text = "\n".join(client.text for client in day)
    assert "the then-U.S. Trade" in text or "the then-U.S. " in text
    assert "$5,222,049,625,819.53" in text
    assert re.search(r"went on to observe: The Federal", text)  # a quotation read aloud follows


def test_managers_counsel_and_guests_have_their_own_speeches(shared: Path) -> None:
    trial = read(shared / "raw_pages", "us", "CREC-2020-01-21")[0]
    words = {client.speaker: 0 for client in trial}
    for client in trial:
        words[client.speaker] += len(client.text.split())
    assert words["Adam B. Schiff"] > 3_000  # a manager, known by his name in mods.xml
    assert words["Mr. Counsel CIPOLLONE"] > 1_000
    assert not [speaker for speaker in words if "CHIEF JUSTICE" in speaker]
    (kishida,) = read(shared / "raw_pages", "us", "CREC-2024-04-11")[0]
    assert kishida.speaker == "Prime Minister KISHIDA"
    assert len(kishida.text.split()) > 1_500
    assert "Applause" not in kishida.text


def test_no_chair_of_either_house_is_a_client(shared: Path) -> None:
    clients = [
        client
        for page in ("debates2009-10-28c", "westminster2009-10-28a", "daylord2021-06-22c", "debates2023-03-28d")
        for client in read(shared / "raw_pages", "uk", page)[0]
    ]
    speakers = {client.speaker for client in clients}
    assert not [one for one in speakers if "Speaker" in one]
    assert not {"Joe Benton", "Lord McFall of Alcluith"} & speakers
    hall = {client.speaker for client in clients if client.chamber == "Westminster Hall"}
    assert "William McCrea" not in hall  # in the Commons he asked a question that day
    text = "\n".join(client.text for client in clients)
    for noise in (r"\[ ?Interruption", "time allowed for this Question has elapsed", r"(?m)^rose—", "in the Chair]"):
        assert re.findall(noise, text) == [], noise
    assert all(client.speaker_id for client in clients)


def test_one_canadian_page_never_replaces_another(shared: Path) -> None:
    clients, counts, named = read(shared / "raw_pages", "ca", "ca/")
    assert all(isinstance(one, SkippedPageError) for one in named)
    assert [one.name for one in named] == ["ca/11796678-fr.xml", "ca/41-1-54-fr.xml", "ca/42-1-2-fr.xml"]
    assert counts.left_out["french_edition"][1] > 40_000
    assert counts.left_out["committee_evidence"][1] > 10_000
    assert len({client.client_id for client in clients}) == len(clients)
    assert not [client.speaker for client in clients if re.search(r"[()]|président|des voix", client.speaker, re.I)]
    text = "\n".join(client.text for client in clients)
    assert not re.search(r"Le député|le gouvernement|[ᐁ-ᙿ]", text)


def test_inuktitut_addresses_are_taken_off(shared: Path) -> None:
    clients = read(shared / "congress", "ca", "44-1-200")[0]
    assert not [client.client_id for client in clients if "qaqtit" in client.text]
