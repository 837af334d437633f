from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fedtext.largefedbench.ingest.errors import RefusedError, StoredWindowError, UnsteadyWindowError
from fedtext.largefedbench.ingest.raw_store import Page, RawStore, Tally
from fedtext.largefedbench.ingest.windows import Window

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
    with pytest.raises(UnsteadyWindowError, match=f"says {expected} records, 4 came"):
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
    with pytest.raises(StoredWindowError, match=r"2024-W12 was pulled by .*'all'.*not by .*'less'.*raw_dir"):
        RawStore(tmp_path).is_done(WINDOW, {"what": "less"})


def test_a_page_gone_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "2024-W12" / "0001.json.gz").unlink()
    with pytest.raises(StoredWindowError, match=r"lacks 0001\.json\.gz"):
        RawStore(tmp_path).is_done(WINDOW, QUERY)


@pytest.mark.parametrize("harm", [lambda data: data[:-9], lambda data: data[:14] + b"!" + data[15:], gzip.decompress])
def test_a_page_changed_is_named(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    write(tmp_path)
    page = tmp_path / "2024-W12" / "0001.json.gz"
    page.write_bytes(harm(page.read_bytes()))
    with pytest.raises(StoredWindowError, match=r"other bytes than were pulled in 0001\.json\.gz"):
        RawStore(tmp_path).is_done(WINDOW, QUERY)


@pytest.mark.parametrize("note", [None, b"", b"{", b"[]", b"{}"])
def test_a_directory_no_pull_made_is_not_replaced(tmp_path: Path, note: bytes | None) -> None:
    directory = tmp_path / "2024-W12"
    directory.mkdir()
    (directory / "mine.json").write_bytes(b"{}")
    if note is not None:
        (directory / "_done.json").write_bytes(note)
    with pytest.raises(StoredWindowError, match="no pull finished it"):
        RawStore(tmp_path).is_done(WINDOW, QUERY)


def test_one_pull_at_a_time(tmp_path: Path) -> None:
    with RawStore(tmp_path).locked(), pytest.raises(RefusedError, match="another pull"), RawStore(tmp_path).locked():
        pass
    with RawStore(tmp_path).locked():
        assert (tmp_path / ".lock").is_file()
