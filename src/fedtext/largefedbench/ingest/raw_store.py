"""Raw pages on disk: a window's pages appear together, complete and counted, and never change.

A window is pulled into a temporary directory that gets its name when everything is in it, so a kill at any moment
leaves finished windows and nothing else that counts. Pages are gzip files with no name or time inside: equal content,
equal bytes.

- A response is parsed and checked before it is stored, for HTTP 200 says nothing about its content.
- Windows are whole ISO weeks, so that two pulls with other dates never cut a week differently.
"""

from __future__ import annotations

import datetime
import gzip
import hashlib
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from fedtext.largefedbench.ingest.errors import (
    RefusedError,
    StoredWindowError,
    UnsteadyWindowError,
    UnusableAnswerError,
)
from fedtext.largefedbench.raw_pages import BOM, RawPageError, parse_xml
from fedtext.system.atomic import replacing_directory
from fedtext.system.errors import InputError
from fedtext.system.locks import LockHeldError, locked

LONGEST_NUMBER = 12  # digits; no source counts in millions of millions


def json_object(body: bytes) -> dict[str, Any]:
    """Parse the JSON object in `body`, with or without a byte order mark.

    Raises:
        UnusableAnswerError: HTML, truncated JSON, another encoding, or JSON that is not an object.
    """
    text = body.removeprefix(BOM).strip()
    if text[:1] == b"<":
        raise UnusableAnswerError(f"HTML or XML where JSON was due: {excerpt(text)}", code="markup-where-json-was-due")
    try:
        value = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnusableAnswerError(f"not JSON ({error}): {excerpt(text)}", code="answer-not-json") from None
    if not isinstance(value, dict):
        raise UnusableAnswerError(f"JSON {type(value).__name__} where an object was due", code="no-object")
    return cast(dict[str, Any], value)


def whole_number(value: Any, name: str) -> int:
    """Return a count that sources write as a number or as a string of digits.

    Raises:
        UnusableAnswerError: it is neither.
    """
    text = str(value).strip()
    if isinstance(value, bool) or not text.isascii() or not text.isdigit() or len(text) > LONGEST_NUMBER:
        raise UnusableAnswerError(f"{name} is {text[:40]!r}, not a count", code="not-a-count", value=name)
    return int(text)


def records(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the list of objects under `name`.

    Raises:
        UnusableAnswerError: there is none; the body is an error in another shape.
    """
    found = value.get(name)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise UnusableAnswerError(
            f"no list of objects under {name!r}: {excerpt(json.dumps(value).encode())}",
            code="no-list-of-objects",
            value=name,
        )
    return cast(list[dict[str, Any]], found)


def xml_root(name: str, body: bytes, *, root: str) -> Any:
    """Parse an XML page as the builder will read it, and return its root element, which must be named `root`.

    Entities that expand are refused.

    Raises:
        UnusableAnswerError: It is HTML, truncated or hostile XML, or another document.
    """
    try:
        return parse_xml(name, body.removeprefix(BOM), root=root)
    except RawPageError as error:
        raise UnusableAnswerError(
            f"not a page of <{root}>: {error.reason}", code=error.code, value=error.value
        ) from None


def excerpt(body: bytes) -> str:
    """Return the start of a body, on one line, for a message."""
    return " ".join(body[:120].decode("utf-8", "replace").split())


WEEK = datetime.timedelta(days=7)


@dataclass(frozen=True)
class Window:
    """One piece of a source: its directory under `<raw_dir>/<source>/`, its days, and a part of the source if any.

    `part` is a division of the source beside time: a chamber, a session, an invitation. A window without days is pulled
    whole at any time.
    """

    name: str
    first: datetime.date | None = None
    last: datetime.date | None = None
    part: str = ""

    def settled(self, today: datetime.date, settle_days: int) -> bool:
        """Return whether its last day and `settle_days` more have passed: then its pages are never pulled again."""
        return self.last is None or self.last + datetime.timedelta(days=settle_days) < today


def weeks(first: datetime.date, last: datetime.date, part: str = "", prefix: str = "") -> list[Window]:
    """Return the ISO weeks (Monday to Sunday) that hold a day from `first` to `last`, in order, named `2024-W12`."""
    monday = first - datetime.timedelta(days=first.weekday())
    windows = []
    while monday <= last:
        year, week, _ = monday.isocalendar()
        windows.append(Window(f"{prefix}{year}-W{week:02d}", monday, monday + WEEK - datetime.timedelta(days=1), part))
        monday += WEEK
    return windows


def days(window: Window) -> tuple[datetime.date, datetime.date]:
    """Return the first and last day of a window that has days.

    Raises:
        ValueError: it has none.
    """
    if window.first is None or window.last is None:
        raise InputError(f"window {window.name} has no days", code="window-without-days", value=window.name)
    return window.first, window.last


DONE = "_done.json"


@dataclass(frozen=True)
class Page:
    """One page: its file name (`.gz` is compressed here), the bytes as they came, and how many records it holds."""

    name: str
    content: bytes
    records: int = 1


@dataclass
class Tally:
    """The source's count of a window, and what was found: filled in while its pages are pulled.

    `missing` were listed and not there (404), `rejected` were there and are not for keeping; both by name with the
    reason. `notes` are further counts, for the reader.
    """

    expected: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)

    def difference(self, records: int) -> int:
        """Return the number of records beyond the source's own count; 0 if the window adds up."""
        return records + len(self.missing) + len(self.rejected) - self.expected


class RawStore:
    """The windows of one source under `<raw_dir>/<source>/`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of this directory, for one pull at a time; the system releases it when the process ends."""
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            lock = locked(self.root / ".lock", wait=False)
        except LockHeldError:
            raise RefusedError(
                f"another pull is writing to {self.root}: wait for it",
                code="store-locked",
                parameter="ingest.raw_dir",
                value=str(self.root),
            ) from None
        with lock:
            yield

    def is_done(self, window: Window, query: dict[str, Any]) -> bool:
        """Return whether the window was pulled before, by the same query.

        Raises:
            StoredWindowError: it was pulled by another query, a page is gone or changed, or no pull has made it.
        """
        directory = self.root / window.name
        if not directory.exists():
            return False
        remedy = "choose another ingest.raw_dir, or delete it to have it pulled again"
        try:
            done = json.loads((directory / DONE).read_text("utf-8"))
            pulled_by, pages = done["query"], {page["name"]: page["sha256"] for page in done["pages"]}
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise StoredWindowError(
                f"{directory} has no readable {DONE}, so no pull finished it: {remedy}", code="window-not-finished"
            ) from None
        if pulled_by != query:
            raise StoredWindowError(
                f"{directory} was pulled by {pulled_by}, not by {query}: {remedy}",
                code="window-of-another-query",
                value=query,
            )
        if gone := [name for name in pages if not (directory / name).is_file()]:
            raise StoredWindowError(
                f"{directory} lacks {', '.join(gone)}: {remedy}", code="window-lacks-pages", value=gone
            )
        if changed := [name for name, digest in pages.items() if _digest(directory / name) != digest]:
            raise StoredWindowError(
                f"{directory} holds other bytes than were pulled in {', '.join(changed)}: {remedy}",
                code="window-changed",
                value=changed,
            )
        return True

    def write(
        self,
        window: Window,
        query: dict[str, Any],
        pages: Iterable[Page],
        tally: Tally,
        *,
        retrieved: str,
        strict: bool,
    ) -> dict[str, Any]:
        """Store all pages of a window and their counts, or nothing; return the content of `_done.json`.

        Raises:
            UnsteadyWindowError: the counts do not add up and `strict` is set.
        """
        with replacing_directory(self.root / window.name) as directory:
            listed = [_store(directory, page) for page in pages]
            records = sum(page["records"] for page in listed)
            difference = tally.difference(records)
            if difference and strict:
                raise UnsteadyWindowError(
                    f"window {window.name}: the source says {tally.expected} records, {records} came, "
                    f"{len(tally.missing)} are missing and {len(tally.rejected)} rejected",
                    code="window-incomplete",
                    value=window.name,
                )
            done = {
                "window": window.name, "first": str(window.first or ""), "last": str(window.last or ""),
                "query": query, "retrieved": retrieved, "expected": tally.expected, "records": records,
                "missing": tally.missing, "rejected": tally.rejected, "reconciled": difference == 0,
                "notes": dict(tally.notes), "pages": listed,
            }  # fmt: skip
            text = json.dumps(done, indent=1, ensure_ascii=False, sort_keys=True)
            (directory / DONE).write_text(text + "\n", "utf-8")
        return done


def _store(directory: Path, page: Page) -> dict[str, Any]:
    """Write one page; its digest is of the content, which no compressor changes."""
    path = directory / page.name
    data = _compressed(page.content) if page.name.endswith(".gz") else page.content
    with path.open("xb") as file:
        file.write(data)
    digest = hashlib.sha256(page.content).hexdigest()
    return {"name": page.name, "records": page.records, "bytes": len(page.content), "sha256": digest}


def _digest(path: Path) -> str | None:
    """Return the digest of a page's content, or None if it cannot be read."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, EOFError, zlib.error):
        return None


def _compressed(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()
