"""The page of a half-year: every kind of finding is on it, and a quiet half-year has none."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from fedtext.largefedbench.halves import Half
from fedtext.largefedbench.review import Pulled, review
from fedtext.largefedbench.snapshot import publish
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.calendar import Calendar, half_year_before
from fedtext.params.ingest import Ingest
from fedtext.params.largefedbench import LargeFedBench
from fedtext.pipelines.largefedbench.nodes import (
    build_half_year,
    build_largefedbench,
    pull_half_year,
    review_half_year,
)
from tests.parameters import conf_base
from tests.refusals import refuses


def pages(number: int, chair: int) -> dict[str, Any]:
    half = Half()
    for page in range(number):
        half.add_page({"turns": 50, "left out: chair": chair + page % 3})
    return half.as_dict()


def facts(name: str, **changes: Any) -> dict[str, Any]:
    source = {"turns": 1000, "unknown": {}, "halves": {"2025H2": pages(30, 10), "2026H1": pages(30, 10)}}
    return {
        "snapshot": name,
        "sources": {"us": source | changes.pop("us", {})},
        "bad_pages": [],
        "takedown_lines_that_match_nobody": 0,
        "configs": {"congress": {"train": {"clients": 9, "chunks": 20, "tokens": 900}}},
    } | changes


NO_CHANGE = {"totals": {"added": 4, "removed": 0, "altered": 0, "moved": 0}, "changes": [], "parameters": {}}


def test_a_quiet_half_year_has_nothing_to_look_at() -> None:
    pulled = [Pulled("us", {"windows_pulled": 26, "pages": 130, "failed": {}})]
    page = review("2026H1", facts("2026H1"), facts("2025H2"), NO_CHANGE, pulled, 3)
    assert "**Nothing to look at.**" in page
    assert "| us | 26 | 0 | 0 | 130 | 0 |" in page
    assert "Against 2025H2: 4 added, 0 removed" in page


@pytest.mark.parametrize(
    ("new", "change", "pulled", "expected"),
    [
        ({"us": {"unknown": {"label": {"The Umpire": 3, "The|Pipe": 1}}}}, {}, [], "| us | label | 2 | 4.0 | The Umpire; The\\|Pipe |"),
        ({"us": {"unknown": {"markup": {"{zork}": 3}}}}, {}, [], "| us | markup | 1 | 3.0 | {zork} |"),
        ({"us": {"halves": {"2025H2": pages(30, 10), "2026H1": pages(30, 14)}}}, {}, [], "| us | left out: chair, per 1,000 turns | 220.00 | 300.00 | +"),
        ({"us": {"halves": {"2025H2": pages(30, 10)}}}, {}, [], "| us | pages of this half-year |  | none |"),
        ({"bad_pages": [{"page": "us/x", "reason": "cut off"}]}, {}, [], "| us/x | cut off |"),
        ({"takedown_lines_that_match_nobody": 2}, {}, [], "## Takedown lines that match nobody"),
        ({}, {"changes": [{"config": "congress", "source": "us", "month": "2025-12", "change": "removed", "clients": 2}]}, [], "| congress | us | 2025-12 | removed | 2 |"),
        ({}, {"parameters": {"min_letter_share": [0.7, 0.5]}}, [], "| min_letter_share | 0.7 | 0.5 |"),
        ({}, {}, [Pulled("uk", {}, "the server said 503")], "| uk | the whole pull | the server said 503 |"),
        ({}, {}, [Pulled("uk", {"failed": {"2026-W01": "no answer"}, "missing": 2})], "| uk | window 2026-W01 | no answer |"),
    ],
)  # fmt: skip
def test_everything_a_person_must_look_at_is_on_the_page(
    new: dict[str, Any], change: dict[str, Any], pulled: list[Pulled], expected: str
) -> None:
    page = review("2026H1", facts("2026H1", **new), facts("2025H2"), NO_CHANGE | change, pulled, 3)
    assert "**To look at:**" in page
    assert expected in page


def test_a_reason_without_end_leaves_room_for_the_others() -> None:
    bad = [{"page": "us/x", "reason": f"lists 200 parts: {'a part, ' * 200}"}]
    page = review("2026H1", facts("n", bad_pages=bad), facts("o"), NO_CHANGE, [], 3)
    assert "all in provenance.json |" in page
    assert len(page) < 1500


def test_what_the_snapshot_before_had_too_is_not_new() -> None:
    known = {"unknown": {"label": {"The Umpire": 3}}}
    bad = [{"page": "us/x", "reason": "cut off"}]
    page = review("2026H1", facts("n", us=known, bad_pages=bad), facts("o", us=known, bad_pages=bad), NO_CHANGE, [], 3)
    assert "**Nothing to look at.**" in page


def test_clients_of_this_half_year_that_are_added_are_expected() -> None:
    added = {"config": "congress", "source": "us", "month": "2026-03", "change": "added", "clients": 7}
    late = added | {"month": "2025-12"}
    assert "Nothing" in review("2026H1", facts("n"), facts("o"), NO_CHANGE | {"changes": [added]}, [], 3)
    assert "2025-12" in review("2026H1", facts("n"), facts("o"), NO_CHANGE | {"changes": [late]}, [], 3)


@pytest.fixture
def params(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> LargeFedBench:
    (tmp_path / "tokenizer.json").write_text(words.definition, "utf-8")
    return conf_base(
        LargeFedBench, raw_dir=str(raw), out_dir=str(tmp_path / "s"), tokenizer=str(tmp_path / "tokenizer.json")
    )


def test_two_rounds_on_pages_that_are_there(params: LargeFedBench, capsys: pytest.CaptureFixture[str]) -> None:
    assert pull_half_year(conf_base(Ingest), conf_base(Calendar, half_year="2024H1", sources="")) == []
    for half in ("2024H1", "2024H2"):
        calendar = conf_base(Calendar, half_year=half, sources="")
        snapshot = publish(build_half_year(params, calendar, []))
        (page,) = review_half_year(snapshot, params, calendar, []).values()
    assert snapshot.name == "2024H2"
    assert "Against 2024H1" in page
    assert "not settled" not in page


def test_a_half_year_s_snapshot_is_found_again_with_its_last_day_alone(params: LargeFedBench) -> None:
    """As docs/largefedbench/year.md has it: a release names the day that the round took by itself."""
    snapshot = publish(build_half_year(params, conf_base(Calendar, half_year="2024H1", sources=""), []))
    named = params.model_copy(update={"snapshot": "2024H1"})
    with refuses("snapshot-of-other-pages"):
        build_largefedbench(named)
    there = build_largefedbench(named.model_copy(update={"to_date": datetime.date(2024, 6, 30)}))
    assert publish(there) == snapshot


def test_a_round_without_a_name_is_refused() -> None:
    with refuses("half-year-not-told"):
        pull_half_year(conf_base(Ingest), conf_base(Calendar))
    with refuses("not-a-half-year"):
        conf_base(Calendar, half_year="2026")


def test_one_source_that_fails_stops_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from fedtext.largefedbench.ingest import pull as pulling
    from fedtext.largefedbench.ingest.errors import RefusedError

    asked = list[tuple[str, datetime.date, datetime.date]]()

    def pull(params: Ingest) -> dict[str, Any]:
        asked.append((str(params.source), params.from_date, params.to_date))  # type: ignore[arg-type]
        if params.source != "uk":
            raise RefusedError("no key", code="no-key")
        return {"source": "uk", "failed": {}, "pages": 1}

    monkeypatch.setattr(pulling, "pull", pull)
    found = pull_half_year(conf_base(Ingest), conf_base(Calendar, half_year="2026H1", sources="us uk"))
    assert [(one.source, one.failure) for one in found] == [("us", "no key"), ("uk", "")]
    assert asked[0] == ("us", datetime.date(2026, 1, 1), datetime.date(2026, 6, 30))
    with refuses("no-key"):
        pull_half_year(conf_base(Ingest), conf_base(Calendar, half_year="2026H1", sources="us ca"))


def test_the_half_year_before() -> None:
    assert [half_year_before(name) for name in ("2026H1", "2026H2")] == ["2025H2", "2026H1"]
