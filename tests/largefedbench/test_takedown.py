"""What maintainers leave out by request, and personal data in texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.clients import kinds_in
from fedtext.largefedbench.snapshot import provenance, read_table
from fedtext.largefedbench.takedown import read_takedown
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.largefedbench.turns import SPEECH, Turn
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base
from tests.refusals import refuses

from .pages import preprint, preprint_page


def build(raw: Path, tmp_path: Path, words: ChunkTokenizer, name: str = "a", **changes: object) -> Path:
    params = conf_base(LargeFedBench, snapshot=name, raw_dir=str(raw), **changes)
    return build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path / "out")


def ids(snapshot: Path, config: str) -> list[str]:
    return list(read_table(snapshot, config, "clients").to_pandas()["client_id"])


def everything_adds_up(snapshot: Path) -> None:
    for counts in provenance(snapshot)["sources"].values():
        assert counts["turns"] == counts["clients"] + sum(rule["turns"] for rule in counts["left_out"].values())
        gone = sum(rule["words"] for kind in ("left_out", "removed") for rule in counts[kind].values())
        assert abs(counts["words"] - counts["words_kept"] - gone) <= sum(r["times"] for r in counts["removed"].values())


def test_who_is_on_the_list_stays_out_of_every_later_snapshot(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    before = build(raw, tmp_path, words)
    (raw / "takedown.txt").write_text(
        "# asked on 1 July\nid: 2024-05-09.ca.100\nspeaker: us/K000001\nspeaker: uk/Tom \u200bHALL\n",
        "utf-8",
    )
    with refuses("snapshot-of-other-pages"):
        build(raw, tmp_path, words)
    after = build(raw, tmp_path, words, "b")
    gone = set(ids(before, "congress")) - set(ids(after, "congress"))
    assert gone == {"2024-05-09.ca.100", "2024-05-14.us.pt1-PgH3001.0001", "2024-07-30.uk.debate.1.2"}
    assert ids(after, "biorxiv") == ids(before, "biorxiv")
    facts = provenance(after)
    assert [facts["sources"][name]["left_out"]["taken_down"]["turns"] for name in ("ca", "uk", "us")] == [1, 2, 1]
    everything_adds_up(after)
    card = (after / "README.md").read_text("utf-8")
    assert card.count("| whole turn | taken_down |") == 3  # Mr Hall's speech is in both revisions of the day
    assert "K000001" not in (after / "provenance.json").read_text("utf-8") + card


def test_a_client_that_is_a_speaker_stays_out_by_its_id(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    before = build(raw, tmp_path, words, client="speaker")
    (one,) = (name for name in ids(before, "congress") if name.endswith("ca.speaker.anne-roy"))
    (raw / "takedown.txt").write_text(f"id: {one}\n")
    after = build(raw, tmp_path, words, "b", client="speaker")
    assert set(ids(before, "congress")) - set(ids(after, "congress")) == {one}
    everything_adds_up(after)


def test_a_near_duplicate_comes_in_the_place_of_what_is_taken_down(
    raw: Path, tmp_path: Path, words: ChunkTokenizer
) -> None:
    """The page on snapshots says so: who asked may have to name both."""
    said = " ".join(f"We measured the {number}th river in the winter of that year." for number in range(20))
    rows = [preprint("10.1101/x1", abstract=said), preprint("10.1101/x2", abstract=f"{said} It was cold.")]
    (raw / "biorxiv/two.json").write_bytes(preprint_page(rows))
    first, second = (f"2024-05-02.biorxiv.10.1101/x{number}" for number in (1, 2))
    before = build(raw, tmp_path, words, sources=("biorxiv",))
    assert {first, second} & {*ids(before, "biorxiv")} == {first}
    (raw / "takedown.txt").write_text(f"id: {first}\n", "utf-8")
    after = build(raw, tmp_path, words, "b", sources=("biorxiv",))
    assert {first, second} & {*ids(after, "biorxiv")} == {second}


@pytest.mark.parametrize(
    "line",
    [
        "speaker: ca/Mr. Paul Lee",  # as the pages before named him
        "speaker: ca/paul lee",
        "speaker: ca/Right Hon. Paul Lee",
        "id: 2024-05-09.ca.speaker.paul-lee",
        "id: 2024-05-09.ca.speaker.hon-paul-lee",  # as ids were once
    ],
)
def test_a_new_title_brings_nobody_back(line: str, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(line, "utf-8")
    listed = read_takedown(tmp_path / "list.txt")
    minister = Turn("2025-05-09.ca.7", "ca", SPEECH, "2025-05-09", (), speaker="Hon. Paul Lee", speaker_id="78")
    assert listed.has(minister)
    assert not listed.has(replace(minister, speaker="Hon. Paula Lee"))
    assert not listed.has(replace(minister, source="uk"))


def test_a_wrong_list_is_refused(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    (tmp_path / "list.txt").write_text("id: a\nJane Keller\n")
    with refuses("takedown-line-unusable", value=2):
        read_takedown(tmp_path / "list.txt")
    with refuses("missing-takedown"):
        build(raw, tmp_path, words, takedown=str(tmp_path / "nowhere.txt"))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Please call (202) 224-5175 or write to staff_1@energy.senate.gov today.", "email telephone"),
        ("Ring 020 7219 3000 for the office.", "telephone"),
        ("Contact +44 20 7219 3000 now.", "telephone"),
        ("Call 1-800-273-8255, the lifeline.", "telephone"),
        ("Please call 224-3121.", "telephone"),
        ("Reach us at a.b+c@x.co.uk.", "email"),
        ("From 2019-2020 it cost $100-200-3000 or 1,234,567,890 dollars.", ""),
        ("On rollcall No. 390 the vote was 224-3121.", ""),
        ("The bill, H.R. 1234, passed on 2005-07-20 at 10:15.", ""),
        ("See [904784] and ISBN 978-0-306-40615-7.", ""),
        ("Follow @senator for more.", ""),
    ],
)
def test_telephone_numbers_and_addresses(text: str, kinds: str) -> None:
    assert kinds_in(text) == kinds


def test_personal_data_are_flagged_or_removed(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    abstract = "We ask you to write to ada@example.org or to call 020 7219 3000 about the river."
    (raw / "biorxiv/mail.json").write_bytes(preprint_page([preprint("10.1101/m", abstract=abstract)]))
    flagged = read_table(build(raw, tmp_path, words), "biorxiv", "clients").to_pandas().set_index("client_id")
    one = "2024-05-02.biorxiv.10.1101/m"
    assert flagged.loc[one, "personal_data"] == "email telephone"
    assert "ada@example.org" in flagged.loc[one, "text"]
    assert set(flagged["personal_data"].drop(one)) == {""}
    snapshot = build(raw, tmp_path, words, "b", personal_data="remove")
    removed = read_table(snapshot, "biorxiv", "clients").to_pandas().set_index("client_id")
    assert removed.loc[one, "text"] == "We ask you to write to [email] or to call [telephone] about the river."
    assert removed.loc[one, "personal_data"] == ""
    counts = provenance(snapshot)["sources"]["biorxiv"]["removed"]
    assert counts["personal_data_email"] == {"times": 1, "words": 1}
    assert counts["personal_data_telephone"] == {"times": 1, "words": 3}
    everything_adds_up(snapshot)


@pytest.mark.shared
def test_personal_data_of_a_real_day(shared: Path) -> None:
    """The hearing notices of 28 January 1997 give the committee staff's telephone numbers."""
    pages = (shared / "congress/us/CREC-1997-01-28/html").glob("*.htm")
    found = {path.stem[-9:]: kinds_in(path.read_text("utf-8")) for path in pages}
    with_numbers = [name for name, kinds in found.items() if "telephone" in kinds]
    assert with_numbers
    assert len(with_numbers) < len(found) / 4


@pytest.mark.parametrize(
    ("window", "first", "last"), [("2025H1", "2025-01-01", "2025-06-30"), ("2024H2", "2024-07-01", "2024-12-31")]
)
def test_half_years_by_name(window: str, first: str, last: str) -> None:
    params = conf_base(LargeFedBench, window=window)
    assert (str(params.from_date), str(params.to_date)) == (first, last)
    dates = conf_base(LargeFedBench, from_date=first, to_date=last)
    assert params.content_parameters() == dates.content_parameters()


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"window": "2025H3"}, "not-a-half-year"),
        ({"window": "2025"}, "not-a-half-year"),
        ({"window": "2025H1", "to_date": "2025-03-01"}, "window-contradicts-dates"),
    ],
)
def test_wrong_windows_are_refused(values: dict[str, object], code: str) -> None:
    with refuses(code):
        conf_base(LargeFedBench, values)
