"""What is pulled from the public sources, from which address and at which rate. No credential is a parameter."""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from fedtext.params import Parameters, words
from fedtext.system.errors import InputError

LiveSource = Literal["biorxiv", "medrxiv", "uk", "ca", "us", "pubmed", "openreview"]
LIVE_SOURCES: tuple[LiveSource, ...] = get_args(LiveSource)
UkChamber = Literal["debates", "westminhall", "lordspages"]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    local = parts.hostname in {"127.0.0.1", "localhost"}
    if not (parts.scheme == "https" or (parts.scheme == "http" and local)) or not parts.hostname or parts.query:
        raise InputError(
            f"{url!r} is not a base URL: use https://host/path (plain http for this machine only)",
            code="not-a-base-url",
            value=url,
        )
    return url.rstrip("/")


def _session(name: str) -> str:
    if not re.fullmatch(r"\d+-\d", name):
        raise InputError(
            f"session {name!r} is not <parliament>-<session>, such as 44-1", code="not-a-session", value=name
        )
    return name


BaseUrl = Annotated[str, AfterValidator(_origin)]
Interval = Annotated[float, Field(ge=0)]


class Requests(Parameters):
    """Retries of one request: waits double from `first_wait` seconds, or are what the server requests.

    `robots`: `obey` stops a pull that a server's robots.txt disallows, `report` logs it and continues (for an API whose
    terms allow what its robots.txt does not), `ignore` does not read robots.txt.
    """

    attempts: int = Field(ge=1)
    first_wait: float = Field(ge=0)
    longest_wait: float = Field(gt=0)
    timeout: float = Field(gt=0)
    robots: Literal["obey", "report", "ignore"]


class Preprints(Parameters):
    """The bioRxiv and medRxiv `details` API."""

    base_url: BaseUrl
    interval: Interval


class UnitedKingdom(Parameters):
    """TheyWorkForYou's XML: a directory a chamber."""

    base_url: BaseUrl
    interval: Interval
    chambers: Annotated[tuple[UkChamber, ...], BeforeValidator(words)]


class Canada(Parameters):
    """House of Commons Hansard; its sittings are found with openparliament.ca, session by session."""

    base_url: BaseUrl
    listing_url: BaseUrl
    interval: Interval
    sessions: Annotated[tuple[Annotated[str, AfterValidator(_session)], ...], BeforeValidator(words)]


class UnitedStates(Parameters):
    """The Congressional Record on govinfo: a list of packages (needs a key), then one package a day."""

    base_url: BaseUrl
    listing_url: BaseUrl
    interval: Interval
    page_size: int = Field(ge=1, le=1000)


class PubMed(Parameters):
    """NCBI E-utilities: what `term` finds in a week, by Entrez date."""

    base_url: BaseUrl
    interval: Interval
    term: str
    batch: int = Field(ge=1, le=500)


class OpenReview(Parameters):
    """OpenReview: submissions with their direct replies, an invitation at a time.

    `invitations` are pulled from API v1, `invitations_v2` (venues from 2024 on) from API v2.
    """

    base_url: BaseUrl
    base_url_v2: BaseUrl
    interval: Interval
    invitations: Annotated[tuple[str, ...], BeforeValidator(words)]
    invitations_v2: Annotated[tuple[str, ...], BeforeValidator(words)]
    page_size: int = Field(ge=1, le=1000)


class Ingest(Parameters):
    """One pull of one source: every whole week that holds a day from `from_date` to `to_date` (null: today).

    A week is pulled once, `settle_days` after its end. `on_mismatch: record` keeps a window whose counts do not add up
    after `window_attempts` pulls, and notes it in its `_done.json`; `on_failed_window: continue` skips a window that
    cannot be pulled. `today` is for repeating a pull exactly.
    """

    source: LiveSource | None
    raw_dir: str | None
    from_date: datetime.date
    to_date: datetime.date | None
    today: datetime.date | None
    settle_days: int = Field(ge=0)
    window_attempts: int = Field(ge=1)
    on_mismatch: Literal["stop", "record"]
    on_failed_window: Literal["stop", "continue"]
    requests: Requests
    preprints: Preprints
    uk: UnitedKingdom
    ca: Canada
    us: UnitedStates
    pubmed: PubMed
    openreview: OpenReview

    @model_validator(mode="after")
    def _dates_in_order(self) -> Self:
        if self.to_date is not None and self.to_date < self.from_date:
            raise InputError(
                f"ingest.from_date {self.from_date} is after ingest.to_date {self.to_date}: swap them",
                code="dates-swapped",
                parameter="ingest.from_date",
            )
        return self
