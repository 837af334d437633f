"""What a client is (speech, speaker_day, speaker), and near-duplicates that are kept once or split together."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.largefedbench.clients import Text, combined, split_key, unit_of
from fedtext.largefedbench.near_duplicates import Duplicate, firsts_of_clusters
from fedtext.largefedbench.snapshot import provenance, read_table
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench, Splitting
from tests.largefedbench.pages import CANADA, preprint, preprint_page
from tests.largefedbench.test_build import all_clients, build, contents
from tests.parameters import conf_base
from tests.refusals import refuses

SPEECH = "The ferries carry us across the river every morning and nobody has looked at the boats for many long years."


@pytest.fixture
def two_days(raw: Path) -> Path:
    """The raw pages and a second Canadian sitting, a day later, in which the same member speaks again."""
    later = CANADA.replace(">9<", ">10<").replace('id="10', 'id="20').replace("late every day", "late every single day")
    (raw / "ca" / "later.xml").write_text(later.replace("across the river", "over the wide sea"), "utf-8")
    return raw


def test_a_client_may_be_a_speaker_or_a_speakers_day(two_days: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    ids = {}
    for unit in ("speech", "speaker_day", "speaker"):
        snapshot = build(two_days, tmp_path / unit, words, client=unit, sources=("ca", "us", "biorxiv"))
        clients = all_clients(snapshot)
        ids[unit] = set(clients["client_id"])
        counted = provenance(snapshot)["clients_by_unit"]["congress"]
        assert counted[unit] == len(clients[clients["source"] != "biorxiv"])
        assert f"clients if `client: {unit}`" in (snapshot / "README.md").read_text("utf-8")
        for config in provenance(snapshot)["configs"]:
            texts = read_table(snapshot, config, "clients").to_pandas().set_index("client_id")["text"]
            for row in read_table(snapshot, config, "chunks").to_pandas().itertuples():
                assert texts[row.client_id][row.start : row.end] == row.text
                assert "\n" not in row.text
    assert "2024-05-09.ca.100" in ids["speech"]
    assert {"2024-05-09.ca.speaker.paul-lee", "2024-05-10.ca.speaker.paul-lee"} <= ids["speaker_day"]
    assert "2024-05-09.ca.speaker.paul-lee" in ids["speaker"]
    assert not any(one.startswith("2024-05-10") for one in ids["speaker"])
    assert "2024-05-02.biorxiv.10.1101/1" in ids["speaker"]  # an abstract has no speaker


def test_a_speakers_words_are_those_of_the_speeches(two_days: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    said = {}
    for unit in ("speech", "speaker"):
        clients = all_clients(build(two_days, tmp_path / unit, words, client=unit, sources=("ca",)))
        said[unit] = sorted(" ".join(clients["text"]).split())
        assert all(own.is_monotonic_increasing for _, own in clients.groupby("split")["client_id"])
    assert said["speech"] == said["speaker"]


def test_the_same_bytes_whatever_the_shards_under_every_unit(
    two_days: Path, tmp_path: Path, words: ChunkTokenizer
) -> None:
    for unit in ("speaker_day", "speaker"):
        one = contents(build(two_days, tmp_path / unit / "a", words, client=unit))
        assert contents(build(two_days, tmp_path / unit / "b", words, client=unit, shard_bytes=1)) == one


def test_a_member_with_a_new_title_is_the_same_client(two_days: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    before = all_clients(build(two_days, tmp_path / "before", words, client="speaker", sources=("ca",)))
    page = two_days / "ca" / "later.xml"
    page.write_text(page.read_text("utf-8").replace("Mr. Paul Lee", "Hon. Paul Lee"), "utf-8")
    after = all_clients(build(two_days, tmp_path / "after", words, client="speaker", sources=("ca",)))
    assert list(after["client_id"]) == list(before["client_id"])
    assert list(after["text"]) == list(before["text"])
    (one,) = after[after["client_id"].str.endswith("paul-lee")].itertuples()
    assert one.speaker == "Mr. Paul Lee", "as the first text names the member"


def test_a_speakers_split_does_not_hang_on_the_first_date() -> None:
    assert split_key("2024-05-09.ca.speaker.mr-lee", "speaker") == "ca.speaker.mr-lee"
    assert split_key("2024-05-09.ca.speaker.mr-lee", "speaker_day") == "2024-05-09.ca.speaker.mr-lee"
    assert split_key("2024-05-09.ca.100", "speaker") == "2024-05-09.ca.100"


def test_whose_a_text_is() -> None:
    canadian = Text("2024-05-09.ca.1", "ca", "2024-05-09", "Mr. Paul Lee", "77")
    assert unit_of(canadian, "speaker") == "ca.speaker.paul-lee"  # the id is of an affiliation
    minister = canadian._replace(speaker="Right Hon. Dr. Paul Lee", speaker_id="78")
    assert unit_of(minister, "speaker") == unit_of(canadian, "speaker"), "an office gives a title, and no other person"
    surname = canadian._replace(speaker="Mr. Lee")
    assert unit_of(surname, "speaker") == "ca.speaker.mr-lee", "Ms. Lee may be another"
    british = Text("2024-07-30.uk.debate.1", "uk", "2024-07-30", "Mary Cole", "6")
    assert unit_of(british, "speaker_day") == "2024-07-30.uk.speaker.6"
    assert list(combined([("id",)], "speech")) == [("id",)]


def build_duplicates(raw: Path, out: Path, words: ChunkTokenizer, how: str, **changes: object) -> Path:
    rows = [
        preprint(f"10.1101/d{number}", abstract=f"{SPEECH} {'' if number else 'So it is.'}") for number in range(40)
    ]
    (raw / "biorxiv/again.json").write_bytes(preprint_page(rows))
    split = conf_base(Splitting, validation_share=0.3, test_share=0.3)
    return build(raw, out, words, near_duplicates=how, sources=("biorxiv",), split=split, **changes)


@pytest.mark.parametrize(
    ("how", "kept", "splits"), [("drop", 1, 1), ("group", 40, 1), ("report", 40, 3), ("ignore", 40, 3)]
)
def test_near_duplicates(raw: Path, tmp_path: Path, words: ChunkTokenizer, how: str, kept: int, splits: int) -> None:
    snapshot = build_duplicates(raw, tmp_path, words, how)
    clients = all_clients(snapshot)
    alike = clients[clients["client_id"].str.contains("/d")]
    assert (len(alike), alike["split"].nunique()) == (kept, splits)
    counts = provenance(snapshot)["sources"]["biorxiv"]
    assert counts["clients"] == len(clients)
    left_out = counts["left_out"].get("near_duplicate", {"turns": 0, "words": 0})
    assert left_out["turns"] == 40 - kept
    gone = sum(rule["words"] for rule in (*counts["left_out"].values(), *counts["removed"].values()))
    fused = counts["removed"].get("fused_heading", {"times": 0})["times"]
    assert counts["words"] == counts["words_kept"] + gone - fused
    if how == "ignore":
        assert not (snapshot / "biorxiv/near_duplicates.parquet").exists()
    else:
        assert len(pd.read_parquet(snapshot / "biorxiv/near_duplicates.parquet")) == 39


@settings(max_examples=100)
@given(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=14))
def test_clusters_are_the_connected_components(pairs: set[tuple[int, int]]) -> None:
    found = [Duplicate(max(pair), min(pair), 1.0) for pair in sorted(pairs) if pair[0] != pair[1]]
    component = {member: {member} for member in range(13)}
    for duplicate in found:
        joined = component[duplicate.client] | component[duplicate.original]
        for member in joined:
            component[member] = joined
    expected = {member: min(group) for member, group in component.items() if min(group) != member}
    assert firsts_of_clusters(found) == expected


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (
            {
                "client": "speaker",
                "split": {"method": "temporal", "validation_from": "2024-01-01", "test_from": "2024-02-01"},
            },
            "speaker-has-no-date",
        ),
        ({"client": "speaker_day", "near_duplicates": "group"}, "formulas-bind-clients"),
        ({"near_duplicates": "no"}, "unknown-choice"),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, object], code: str) -> None:
    with refuses(code):
        conf_base(LargeFedBench, values)
