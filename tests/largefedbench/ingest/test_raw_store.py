from __future__ import annotations

import datetime
import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.largefedbench.ingest import raw_store
from fedtext.largefedbench.ingest.errors import (
    UnusableAnswerError,
)
from fedtext.largefedbench.ingest.http_client import same_origin_link
from fedtext.largefedbench.ingest.raw_store import Page, RawStore, Tally, Window, days, weeks
from tests.largefedbench.ingest import shapes
from tests.refusals import refuses

WINDOW, QUERY = Window("2024-W12"), {"what": "all"}
PAGES = [Page("0000.json.gz", b"first", 2), Page("0001.json.gz", b"second"), Page("plain.zip", b"PK")]


def write(root: Path, pages: list[Page] = PAGES, *, expected: int = 4, strict: bool = True) -> dict[str, object]:
    tally = Tally(expected=expected)
    return RawStore(root).write(WINDOW, QUERY, pages, tally, retrieved="2024-06-01", strict=strict)


def files(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_pages_come_with_their_counts(tmp_path: Path) -> None:
    done = write(tmp_path)
    directory = tmp_path / "2024-W12"
    assert json.loads((directory / "_done.json").read_text("utf-8")) == done
    assert gzip.decompress((directory / "0000.json.gz").read_bytes()) == b"first"
    assert (directory / "plain.zip").read_bytes() == b"PK"
    assert (done["expected"], done["records"], done["reconciled"]) == (4, 4, True)
    assert RawStore(tmp_path).is_done(WINDOW, QUERY)


def test_equal_pages_are_equal_bytes_with_no_time_inside(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    header = (tmp_path / "a" / "2024-W12" / "0000.json.gz").read_bytes()[:10]
    assert header[3] == 0  # no name in the header
    assert header[4:8] == bytes(4)  # no time


@pytest.mark.parametrize("expected", [3, 5, 0])
def test_counts_that_do_not_add_up_leave_nothing(tmp_path: Path, expected: int) -> None:
    with refuses("window-incomplete", value="2024-W12"):
        write(tmp_path, expected=expected)
    assert files(tmp_path) == {}
    assert write(tmp_path, expected=expected, strict=False)["reconciled"] is False


def test_missing_and_rejected_count(tmp_path: Path) -> None:
    tally = Tally(expected=6, missing={"a": "gone"}, rejected={"b": "old"})
    done = RawStore(tmp_path).write(WINDOW, QUERY, PAGES, tally, retrieved="", strict=True)
    assert (done["missing"], done["rejected"]) == ({"a": "gone"}, {"b": "old"})


def test_a_failure_half_way_leaves_nothing(tmp_path: Path) -> None:
    def pages() -> Iterator[Page]:
        yield PAGES[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RawStore(tmp_path).write(WINDOW, QUERY, pages(), Tally(), retrieved="", strict=True)
    assert files(tmp_path) == {}
    assert not RawStore(tmp_path).is_done(WINDOW, QUERY)


def test_one_name_is_written_once(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        write(tmp_path, [PAGES[0], PAGES[0]])


def test_another_query_does_not_pass_for_done(tmp_path: Path) -> None:
    write(tmp_path)
    with refuses("window-of-another-query"):
        RawStore(tmp_path).is_done(WINDOW, {"what": "less"})


def test_a_page_gone_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "2024-W12" / "0001.json.gz").unlink()
    with refuses("window-lacks-pages"):
        RawStore(tmp_path).is_done(WINDOW, QUERY)


@pytest.mark.parametrize("harm", [lambda data: data[:-9], lambda data: data[:14] + b"!" + data[15:], gzip.decompress])
def test_a_page_changed_is_named(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    write(tmp_path)
    page = tmp_path / "2024-W12" / "0001.json.gz"
    page.write_bytes(harm(page.read_bytes()))
    with refuses("window-changed"):
        RawStore(tmp_path).is_done(WINDOW, QUERY)


@pytest.mark.parametrize("note", [None, b"", b"{", b"[]", b"{}"])
def test_a_directory_no_pull_made_is_not_replaced(tmp_path: Path, note: bytes | None) -> None:
    directory = tmp_path / "2024-W12"
    directory.mkdir()
    (directory / "mine.json").write_bytes(b"{}")
    if note is not None:
        (directory / "_done.json").write_bytes(note)
    with refuses("window-not-finished"):
        RawStore(tmp_path).is_done(WINDOW, QUERY)


def test_one_pull_at_a_time(tmp_path: Path) -> None:
    with RawStore(tmp_path).locked(), refuses("store-locked"), RawStore(tmp_path).locked():
        pass
    with RawStore(tmp_path).locked():
        assert (tmp_path / ".lock").is_file()


@pytest.mark.parametrize(
    "body",
    [shapes.HTML_ERROR, b"", b"{", b'{"a": 1', b"[1]", b'"text"', b"null", '{"a": "é"}'.encode("latin-1"), b"[" * 10**5,
     b'{"a": 1}\x00', "{}".encode("utf-16")],
)  # fmt: skip
def test_what_is_no_json_object_is_unusable(body: bytes) -> None:
    with pytest.raises(UnusableAnswerError):
        raw_store.json_object(body)


def test_a_byte_order_mark_is_passed_over() -> None:
    assert raw_store.json_object(shapes.BOM + b' {"a": [1]}\n') == {"a": [1]}
    assert raw_store.xml_root("x", shapes.BOM + b"<Hansard/>", root="Hansard").tag == "Hansard"


@pytest.mark.parametrize(("value", "number"), [(7, 7), ("7", 7), (" 0 ", 0), ("007", 7)])
def test_counts_are_numbers_or_strings(value: Any, number: int) -> None:
    assert raw_store.whole_number(value, "total") == number


@pytest.mark.parametrize("value", [None, True, "", "-1", -1, 1.5, "1e3", "²", "9" * 13, [], "many"])
def test_what_is_no_count_is_unusable(value: Any) -> None:
    with refuses("not-a-count", value="total"):
        raw_store.whole_number(value, "total")


@pytest.mark.parametrize("value", [{}, {"rows": None}, {"rows": {}}, {"rows": [1]}, {"error": "no"}])
def test_records_must_be_objects(value: dict[str, Any]) -> None:
    with refuses("no-list-of-objects", value="rows"):
        raw_store.records(value, "rows")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (shapes.HTML_ERROR, "another-root-element"),
        (b"", "page-unreadable"),
        (shapes.uk_day("2024-03-18")[:-30], "page-unreadable"),
        (b"<other/>", "another-root-element"),
        (shapes.bomb("publicwhip"), "unsafe-entity"),
        (b'<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]><publicwhip>&x;</publicwhip>', "unsafe-entity"),
    ],
)
def test_xml_must_be_whole_and_harmless(body: bytes, code: str) -> None:
    with refuses(code):
        raw_store.xml_root("day", body, root="publicwhip")


@given(st.binary(max_size=300))
def test_any_bytes_end_in_an_object_or_a_named_error(body: bytes) -> None:
    with suppress(UnusableAnswerError):
        assert isinstance(raw_store.json_object(body), dict)
    with pytest.raises(UnusableAnswerError):
        raw_store.xml_root("x", body, root="no-such-root")


def test_links_stay_on_their_server_and_carry_no_key() -> None:
    url = "https://api.example/list?a=1"
    assert same_origin_link(url, "/next?b=2") == "https://api.example/next?b=2"
    assert same_origin_link(url, "https://api.example/n?api_key=hush&b=2") == "https://api.example/n?b=2"
    for link in ("https://evil.example/next", "http://api.example/next", "//evil.example/", "https://api.example:444/"):
        with refuses("next-link-leads-away"):
            same_origin_link(url, link)


DATES = st.dates(datetime.date(1990, 1, 1), datetime.date(2100, 1, 1))
DAY = datetime.timedelta(days=1)


@given(DATES, st.integers(0, 400))
def test_weeks_cover_the_days_asked_for_without_gap_or_overlap(first: datetime.date, length: int) -> None:
    last = first + length * DAY
    windows = weeks(first, last)
    assert days(windows[0])[0] <= first <= days(windows[0])[1]
    assert days(windows[-1])[0] <= last <= days(windows[-1])[1]
    assert all(days(a)[1] + DAY == days(b)[0] for a, b in pairwise(windows))
    assert [w.name for w in windows] == sorted({w.name for w in windows})


@given(DATES, st.integers(0, 100), st.integers(0, 100))
def test_a_week_is_the_same_whoever_asks(first: datetime.date, shift: int, length: int) -> None:
    one = {w.name: w for w in weeks(first, first + length * DAY)}
    other = {w.name: w for w in weeks(first + shift * DAY, first + (shift + length) * DAY)}
    assert all(one[name] == other[name] for name in one.keys() & other.keys())


def test_iso_years() -> None:
    assert [w.name for w in weeks(datetime.date(2020, 12, 28), datetime.date(2021, 1, 4))] == ["2020-W53", "2021-W01"]


def test_a_week_settles_after_it_is_over() -> None:
    window = weeks(datetime.date(2024, 3, 20), datetime.date(2024, 3, 20))[0]  # ends on the 24th
    assert not window.settled(datetime.date(2024, 3, 24), 0)
    assert window.settled(datetime.date(2024, 3, 25), 0)
    assert not window.settled(datetime.date(2024, 4, 7), 14)
    assert window.settled(datetime.date(2024, 4, 8), 14)


def test_a_window_without_days_is_always_settled() -> None:
    assert Window("conference").settled(datetime.date(1999, 1, 1), 99)
    with refuses("window-without-days", value="conference"):
        days(Window("conference"))
