"""House of Commons, Canada: one XML file a sitting, `{base}/Content/House/{parl}{sess}/Debates/{n}/HAN{n}-E.XML`.

Sittings are found with openparliament.ca, session by session; a sitting that is listed and not published (404) is noted
as missing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from fedtext.largefedbench.ingest import raw_store
from fedtext.largefedbench.ingest.errors import UnsteadyWindowError, UnusableAnswerError
from fedtext.largefedbench.ingest.http_client import HttpClient, same_origin_link
from fedtext.largefedbench.ingest.raw_store import Page, Tally, Window, days, weeks
from fedtext.params.ingest import Ingest

LIMIT = 500
API_VERSION = {"API-Version": "v1"}  # openparliament.ca asks its clients to say which they were written for
NUMBER = re.compile(r"(?P<number>\d{1,4})-?(?P<letter>[A-Z]?)")  # 128-B is a second sitting under one number


class Sittings(NamedTuple):
    """One page of the list of sittings: (date, number in file names), the link to the next page."""

    found: list[tuple[str, str]]
    following: str | None


class Canada:
    """The sessions, each with weeks of its own."""

    def __init__(self, params: Ingest, client: HttpClient) -> None:
        self._params, self._client = params.ca, client

    def windows(self, params: Ingest, today: datetime.date) -> list[Window]:
        """Return the requested weeks, session by session."""
        sessions = self._params.sessions
        return [w for part in sessions for w in weeks(params.from_date, params.to_date or today, part, f"{part}/")]

    def query(self, window: Window) -> dict[str, Any]:
        """Return the session and its days."""
        first, last = days(window)
        return {"session": window.part, "from": first.isoformat(), "to": last.isoformat()}

    def pages(self, window: Window, tally: Tally) -> Iterator[Page]:
        """Yield the sittings of a week by number."""
        session = window.part.replace("-", "")
        sittings = self._sittings(window)
        tally.expected = len(sittings)
        for number, day in sorted((number, day) for day, number in sittings):
            name = f"HAN{number}-E.XML"
            url = f"{self._params.base_url}/Content/House/{session}/Debates/{number}/{name}"
            body = self._client.fetch(url, partial(read_sitting, name))
            if body is None:
                tally.missing[name] = f"no sitting published for {day}"
            else:
                yield Page(f"HAN{number}-E.xml.gz", body)

    def _sittings(self, window: Window) -> list[tuple[str, str]]:
        first, last = days(window)
        url: str | None = f"{self._params.listing_url}/debates/"
        params: dict[str, str] | None = {
            "session": window.part, "date__range": f"{first},{last}", "limit": str(LIMIT), "format": "json",
        }  # fmt: skip
        sittings: list[tuple[str, str]] = []
        visited: set[str] = set()
        while url is not None:
            answer = self._client.fetch(url, partial(read_list, url), params=params, headers=API_VERSION)
            if answer is None:
                raise UnusableAnswerError(f"{url} does not exist", code="canada-page-missing", value=url)
            if url in visited:
                raise UnusableAnswerError(f"{url} leads back to itself", code="canada-listing-in-a-circle", value=url)
            visited.add(url)
            sittings += answer.found
            url, params = answer.following, None
        if outside := [day for day, _ in sittings if not str(first) <= day <= str(last)]:
            raise UnsteadyWindowError(
                f"{self._params.listing_url} lists {outside[0]} for the week from {first}",
                code="canada-sitting-outside-week",
                value=outside[0],
            )
        return sorted(set(sittings))


def read_list(url: str, body: bytes) -> Sittings:
    """Parse one page of sittings.

    Raises:
        UnusableAnswerError: It is no such page.
    """
    value = raw_store.json_object(body)
    found = []
    for row in raw_store.records(value, "objects"):
        day = str(row.get("date"))[:10]
        try:
            datetime.date.fromisoformat(day)
        except ValueError:
            raise UnusableAnswerError(f"a sitting is dated {day!r}", code="canada-sitting-undated", value=day) from None
        found.append((day, sitting_number(row.get("number"))))
    pagination = value.get("pagination")
    following = pagination.get("next_url") if isinstance(pagination, dict) else None
    return Sittings(found, same_origin_link(url, following) if following else None)


def sitting_number(value: object) -> str:
    """Return a sitting's number as it stands in file names: `7` is 007, `128-B` is 128B.

    Raises:
        UnusableAnswerError: it is no such number.
    """
    match = NUMBER.fullmatch(str(value).strip())
    if match is None:
        raise UnusableAnswerError(
            f"number of the sitting is {str(value)[:40]!r}, not one such as 128 or 128-B", code="canada-sitting-number"
        )
    return f"{int(match['number']):03d}{match['letter']}"


def read_sitting(name: str, body: bytes) -> bytes:
    """Return the bytes of a sitting after a check that they are one (a byte order mark stays)."""
    raw_store.xml_root(name, body, root="Hansard")
    return body
