"""UK Parliament: TheyWorkForYou's XML, `{base}/{chamber}/{name}{date}{letter}.xml`, found in the directory listing.

A day's file is issued again under the next letter when it is corrected: only the highest letter is fetched, and a file
that says of itself that it is not the latest is not kept.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from fedtext.largefedbench.ingest import raw_store
from fedtext.largefedbench.ingest.errors import UnusableAnswerError
from fedtext.largefedbench.ingest.http_client import HttpClient
from fedtext.largefedbench.ingest.raw_store import Page, Tally, Window, days, weeks
from fedtext.params.ingest import Ingest

FILE_NAMES = {"debates": "debates", "westminhall": "westminster", "lordspages": "daylord"}


class UnitedKingdom:
    """The chambers, each with weeks of its own."""

    def __init__(self, params: Ingest, client: HttpClient) -> None:
        self._params, self._client = params.uk, client
        self._listing = cache(self._fetch_listing)

    def windows(self, params: Ingest, today: datetime.date) -> list[Window]:
        """Return the requested weeks, chamber by chamber."""
        chambers = self._params.chambers
        return [w for part in chambers for w in weeks(params.from_date, params.to_date or today, part, f"{part}/")]

    def query(self, window: Window) -> dict[str, Any]:
        """Return the chamber and its days."""
        first, last = days(window)
        return {"chamber": window.part, "from": first.isoformat(), "to": last.isoformat()}

    def pages(self, window: Window, tally: Tally) -> Iterator[Page]:
        """Yield the last revision of every sitting day of a week."""
        first, last = days(window)
        sittings = {day: r for day, r in self._listing(window.part).items() if str(first) <= day <= str(last)}
        tally.expected = len(sittings)
        for day, letters in sorted(sittings.items()):
            tally.notes["superseded"] += len(letters) - 1
            name = f"{FILE_NAMES[window.part]}{day}{letters[-1]}.xml"
            url = f"{self._params.base_url}/{window.part}/{name}"
            fetched = self._client.fetch(url, partial(read_day, name))
            if fetched is None:
                tally.missing[name] = "listed but not there"
            elif not fetched[1]:
                tally.rejected[name] = 'latest="no"'
            else:
                yield Page(f"{name}.gz", fetched[0])

    def _fetch_listing(self, chamber: str) -> dict[str, list[str]]:
        url = f"{self._params.base_url}/{chamber}/"
        listing = self._client.fetch(url, partial(read_listing, FILE_NAMES[chamber]))
        if listing is None:
            raise UnusableAnswerError(f"{url} does not exist", code="uk-page-missing", value=url)
        return listing


def read_listing(name: str, body: bytes) -> dict[str, list[str]]:
    """Return the letters issued for each day, in order of issue: `z` before `aa`.

    Raises:
        UnusableAnswerError: no such file is listed; this is another page.
    """
    pattern = re.compile(rf"""href=["']?(?:[^"'>]*/)?{name}(\d{{4}}-\d\d-\d\d)([a-z]*)\.xml["'\s>]""")
    letters: dict[str, set[str]] = {}
    for day, letter in pattern.findall(body.decode("utf-8", "replace")):
        letters.setdefault(day, set()).add(letter)
    if not letters:
        raise UnusableAnswerError(
            f"lists no {name}<date>.xml: {raw_store.excerpt(body)}", code="uk-listing-empty", value=name
        )
    return {day: sorted(issued, key=lambda letter: (len(letter), letter)) for day, issued in letters.items()}


def read_day(name: str, body: bytes) -> tuple[bytes, bool]:
    """Return the bytes of a day, and whether it is the latest revision."""
    return body, raw_store.xml_root(name, body, root="publicwhip").get("latest") != "no"
