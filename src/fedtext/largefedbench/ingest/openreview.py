"""OpenReview: `GET {base}/notes?invitation=...&details=directReplies`, an invitation at a time.

Venues from 2024 on are on API v2, a server of its own, with `{"value": ...}` around fields and a list of invitations.

Open to guests; with OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD in the environment the client signs in first.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import SecretStr

from fedtext.largefedbench.ingest import raw_store
from fedtext.largefedbench.ingest.credentials import OPENREVIEW_PASSWORD, OPENREVIEW_USER, HeaderKey, optional, required
from fedtext.largefedbench.ingest.errors import RefusedError, UnsteadyWindowError, UnusableAnswerError
from fedtext.largefedbench.ingest.http_client import HttpClient
from fedtext.largefedbench.ingest.raw_store import Page, Tally, Window
from fedtext.params.ingest import Ingest


class Notes(NamedTuple):
    """One response: its bytes, the total number of notes, the ids of the received ones, and their reviews."""

    content: bytes
    total: int
    ids: list[str]
    reviews: int


class OpenReview:
    """The invitations, each a window without days."""

    def __init__(self, params: Ingest, client: HttpClient, environment: Mapping[str, str]) -> None:
        self._params, self._client, self._environment = params.openreview, client, environment
        self._auth: dict[str, HeaderKey] = {}

    def windows(self, params: Ingest, today: datetime.date) -> list[Window]:
        """Return one window per invitation."""
        names = [*self._params.invitations, *self._params.invitations_v2]
        return [Window(re.sub(r"[^\w.]+", "-", name).strip("-."), part=name) for name in names]

    def query(self, window: Window) -> dict[str, Any]:
        """Return the invitation."""
        return {"invitation": window.part, "details": "directReplies"}

    def pages(self, window: Window, tally: Tally) -> Iterator[Page]:
        """Yield the notes in order of their number, page by page."""
        v2 = window.part in self._params.invitations_v2
        base = self._params.base_url_v2 if v2 else self._params.base_url
        auth = self._sign_in(base)
        seen: set[str] = set()
        number = 0
        while number == 0 or len(seen) < tally.expected:
            params = {
                **self.query(window), "sort": "number:asc", "limit": str(self._params.page_size),
                "offset": str(len(seen)),
            }  # fmt: skip
            url = f"{base}/notes"
            answer = self._client.fetch(url, read_notes, params=params, auth=auth)
            if answer is None:
                raise UnusableAnswerError(f"{url} does not exist", code="openreview-page-missing", value=url)
            if number and answer.total != tally.expected:
                raise UnsteadyWindowError(
                    f"{window.part}: {tally.expected} notes, then {answer.total}",
                    code="openreview-total-changed",
                    value=answer.total,
                )
            tally.expected = answer.total
            if not answer.ids:
                return
            if repeated := seen.intersection(answer.ids):
                raise UnsteadyWindowError(
                    f"{window.part}: note {min(repeated)} came twice", code="openreview-note-repeated"
                )
            seen.update(answer.ids)
            tally.notes["reviews"] += answer.reviews
            yield Page(f"{number:04d}.json.gz", answer.content, len(answer.ids))
            number += 1

    def _sign_in(self, base: str) -> HeaderKey | None:
        """Return the key to one API's server, fetched once; None for a guest."""
        user = optional(self._environment, OPENREVIEW_USER)
        if base in self._auth or user is None:
            return self._auth.get(base)
        password = required(self._environment, OPENREVIEW_PASSWORD, "openreview, where a user name is set,")
        login = {"id": user.get_secret_value(), "password": password.get_secret_value()}
        token = self._client.fetch(f"{base}/login", read_token, json=login)
        if token is None:
            raise RefusedError(
                f"{base} has no login: unset {OPENREVIEW_USER} to read as a guest",
                code="openreview-without-login",
                parameter=OPENREVIEW_USER,
            )
        self._auth[base] = HeaderKey("Authorization", token, "Bearer ")
        return self._auth[base]


def read_token(body: bytes) -> SecretStr:
    """Return the token of a login; an error repeats nothing else of the response."""
    token = raw_store.json_object(body).get("token")
    if not isinstance(token, str) or not token:
        raise UnusableAnswerError(
            "signing in gave no token (a second factor is not supported)", final=True, code="openreview-without-token"
        )
    return SecretStr(token)


def read_notes(body: bytes) -> Notes:
    """Parse and check one page of notes.

    Raises:
        UnusableAnswerError: an error body, or not notes.
    """
    value = raw_store.json_object(body)
    notes = raw_store.records(value, "notes")
    ids = [str(note.get("id")) for note in notes]
    if len(ids) != len(set(ids)):
        raise UnusableAnswerError("a note came twice on one page", code="openreview-note-twice-on-page")
    return Notes(body, raw_store.whole_number(value.get("count"), "count"), ids, sum(map(_reviews, notes)))


def _reviews(note: dict[str, Any]) -> int:
    details = note.get("details")
    replies = details.get("directReplies") if isinstance(details, dict) else None
    return sum(isinstance(reply, dict) and _is_review(reply) for reply in replies or [])


def _is_review(reply: dict[str, Any]) -> bool:
    names = reply["invitations"] if isinstance(reply.get("invitations"), list) else [reply.get("invitation")]
    return any(str(name).endswith("Official_Review") for name in names)
