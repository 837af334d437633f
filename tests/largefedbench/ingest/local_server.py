"""A real HTTP server on this machine that answers as the seven sources do; base URLs are parameters of a pull.

`before_answer(count)` is called with every request; what it returns, if anything, is how many bytes of the answer are
sent before the connection is dropped.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.largefedbench.ingest import shapes

FIRST, LAST, TODAY = "2024-01-01", "2024-03-24", "2024-06-01"  # twelve whole weeks
WEEKDAYS = ("0", "2", "3")  # Monday, Wednesday, Thursday are sitting days


def parameters(base: str) -> dict[str, Any]:
    """The parameters of a pull from the server at `base`, without waiting."""
    each = {
        "preprints": {}, "uk": {"chambers": "debates"}, "ca": {"listing_url": f"{base}/op", "sessions": "44-1"},
        "us": {"listing_url": f"{base}/api", "page_size": 2}, "pubmed": {"batch": 2}, "openreview": {"page_size": 2},
    }  # fmt: skip
    sources = {name: {"base_url": f"{base}/{name}", "interval": 0.0, **more} for name, more in each.items()}
    requests = {"attempts": 3, "first_wait": 0.0, "robots": "ignore"}
    return {"from_date": FIRST, "to_date": LAST, "today": TODAY, "requests": requests, **sources}


def sitting_days(first: str, last: str) -> list[str]:
    start, end = datetime.date.fromisoformat(first), datetime.date.fromisoformat(last)
    days = (start + datetime.timedelta(days=n) for n in range((end - start).days + 1))
    return [str(day) for day in days if str(day.weekday()) in WEEKDAYS]


def answer(path: str, query: dict[str, str], form: dict[str, str], base: str) -> bytes | None:
    """What the sources answer; None is a 404."""
    routes: list[tuple[str, Callable[..., bytes | None]]] = [
        (r"/preprints/details/\w+/(.+)/(.+)/(\d+)/json", _preprints),
        (r"/uk/debates/", _listing),
        (r"/uk/debates/debates(.{10})b\.xml", shapes.uk_day),
        (r"/op/debates/", lambda: _sittings(*query["date__range"].split(","))),
        (r"/ca/Content/House/441/Debates/(\d{3})/HAN\d{3}-E\.XML", _sitting),
        (r"/api/published/(.+)/(.+)", lambda first, last: _packages(first, last, query["offsetMark"], base + path)),
        (r"/us/content/pkg/CREC-(.{10})\.zip", lambda day: shapes.crec(day) if not day.endswith("9") else None),
        (r"/pubmed/esearch\.fcgi", lambda: shapes.search(_pmids(form["mindate"], form["maxdate"]))),
        (r"/pubmed/efetch\.fcgi", lambda: shapes.articles(int(i) for i in form["id"].split(","))),
        (r"/openreview/notes", lambda: _notes(int(query["offset"]), int(query["limit"]))),
    ]  # fmt: skip
    for pattern, route in routes:
        if match := re.fullmatch(pattern, path):
            return route(*match.groups())
    return None


def _preprints(first: str, last: str, cursor: str) -> bytes:
    dois = [f"10.1101/{first}.{n}" for n in range(7)]
    size = (3, 2, 2)[int(cursor) % 3]  # the page size changes on the way
    return shapes.preprints(dois[int(cursor) : int(cursor) + size], cursor, "7")


def _listing() -> bytes:
    return shapes.uk_listing(f"debates{day}{letter}.xml" for day in sitting_days(FIRST, LAST) for letter in "ab")


def _sittings(first: str, last: str) -> bytes:
    days = sitting_days(first, last)
    return shapes.sittings([(day, str(datetime.date.fromisoformat(day).timetuple().tm_yday)) for day in days])


def _sitting(number: str) -> bytes | None:
    day = datetime.date(2024, 1, 1) + datetime.timedelta(days=int(number) - 1)
    return None if day.day == 4 else shapes.sitting(int(number), str(day))


def _packages(first: str, last: str, mark: str, url: str) -> bytes:
    ids = [f"CREC-{day}" for day in sitting_days(first, last)]
    if mark == "*":
        return shapes.packages(ids[:2], len(ids), f"{url}?offsetMark=next")
    return shapes.packages(ids[2:], str(len(ids)))


def _pmids(first: str, last: str) -> list[int]:
    return [int(day.replace("-", "")) for day in sitting_days(first.replace("/", "-"), last.replace("/", "-"))]


def _notes(offset: int, limit: int) -> bytes:
    return shapes.notes([f"n{n}" for n in range(24)][offset : offset + limit], 24)


class LocalSources(ThreadingHTTPServer):
    """The server; counts its requests."""

    daemon_threads = True
    before_answer: Callable[[int], int | None] = staticmethod(lambda count: None)

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.count, self.lock = 0, Lock()
        self.base = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no error of the server's."""


class _Handler(BaseHTTPRequestHandler):
    server: LocalSources

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        fields = (parse_qs(parts.query), parse_qs(self.rfile.read(length).decode()))
        query, form = ({name: values[0] for name, values in field.items()} for field in fields)
        body = answer(parts.path, query, form, self.server.base)
        with self.server.lock:
            self.server.count += 1
            cut = self.server.before_answer(self.server.count)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write((body or b"")[:cut])
        if cut is not None:
            self.close_connection = True

    do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps the tests' output quiet."""


@contextmanager
def local_sources() -> Iterator[LocalSources]:
    """A running server, stopped on leaving."""
    server = LocalSources()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        with suppress(OSError):
            server.shutdown()
        server.server_close()
