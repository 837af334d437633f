"""bioRxiv and medRxiv: `GET {base}/details/{server}/{from}/{to}/{cursor}/json`, a week at a time.

The page size is the server's affair and may change from page to page: the cursor advances by what came. Errors come
with status 200, in `messages`; counts come as strings or numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from fedtext.largefedbench.ingest import raw_store
from fedtext.largefedbench.ingest.errors import UnsteadyWindowError, UnusableAnswerError
from fedtext.largefedbench.ingest.http_client import HttpClient
from fedtext.largefedbench.ingest.raw_store import Page, Tally, Window, days, weeks
from fedtext.params.ingest import Ingest

NOTHING_FOUND = "no posts found"


class Answer(NamedTuple):
    """One response: its bytes, the window's total, and the (DOI, version) of every row."""

    content: bytes
    total: int
    rows: list[tuple[str, str]]


class Preprints:
    """One of the two preprint servers."""

    def __init__(self, server: str, params: Ingest, client: HttpClient) -> None:
        self._server, self._params, self._client = server, params.preprints, client

    def windows(self, params: Ingest, today: Any) -> list[Window]:
        """Return the requested weeks."""
        return weeks(params.from_date, params.to_date or today)

    def query(self, window: Window) -> dict[str, Any]:
        """Return the query parameters of the API."""
        first, last = days(window)
        return {"server": self._server, "from": first.isoformat(), "to": last.isoformat()}

    def pages(self, window: Window, tally: Tally) -> Iterator[Page]:
        """Yield the pages of a week in cursor order."""
        first, last = days(window)
        base = f"{self._params.base_url}/details/{self._server}/{first}/{last}"
        seen: set[tuple[str, str]] = set()
        cursor = number = 0
        while number == 0 or cursor < tally.expected:
            answer = self._client.fetch(f"{base}/{cursor}/json", partial(read_answer, cursor=cursor))
            if answer is None:
                raise UnusableAnswerError(f"{base}/{cursor}/json does not exist", code="biorxiv-page-missing")
            if number and answer.rows and answer.total != tally.expected:
                raise UnsteadyWindowError(
                    f"{base}: total was {tally.expected}, is {answer.total} at {cursor}",
                    code="biorxiv-total-changed",
                    value=answer.total,
                )
            if not number:
                tally.expected = answer.total
            if not answer.rows:
                return
            if overlap := seen.intersection(answer.rows):
                raise UnsteadyWindowError(
                    f"{base}: {min(overlap)[0]} at {cursor} was on an earlier page already",
                    code="biorxiv-record-repeated",
                )
            seen.update(answer.rows)
            tally.notes["repeated"] += len(answer.rows) - len(set(answer.rows))
            yield Page(f"{number:04d}.json.gz", answer.content, len(answer.rows))
            cursor, number = cursor + len(answer.rows), number + 1


def read_answer(body: bytes, *, cursor: int) -> Answer:
    """Parse and check one response to a request at `cursor`.

    Raises:
        UnusableAnswerError: It is an error in any form, or a response to another request.
    """
    value = raw_store.json_object(body)
    message = next(iter(raw_store.records(value, "messages")), {})
    status = str(message.get("status", "missing")).strip().lower()
    rows = raw_store.records(value, "collection") if "collection" in value else []
    if status == NOTHING_FOUND and not rows:
        return Answer(body, 0, [])
    if status != "ok":
        raise UnusableAnswerError(f"the status inside is {status[:80]!r}", code="biorxiv-status", value=status[:80])
    answered = raw_store.whole_number(message.get("cursor"), "cursor")
    if answered != cursor:
        raise UnusableAnswerError(
            f"cursor out of step: asked for {cursor}, got {answered}", code="biorxiv-cursor-out-of-step", value=answered
        )
    if raw_store.whole_number(message.get("count"), "count") != len(rows):
        raise UnusableAnswerError(
            f"count says {message.get('count')}, {len(rows)} rows came", code="biorxiv-count-differs", value=len(rows)
        )
    keys = [(str(row.get("doi")), str(row.get("version"))) for row in rows]
    return Answer(body, raw_store.whole_number(message.get("total"), "total"), keys)
