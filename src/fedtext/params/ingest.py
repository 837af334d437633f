"""What is pulled from the public sources, from where and how gently. No credential is a parameter."""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from fedtext.params import Parameters, words

LiveSource = Literal["biorxiv", "medrxiv", "uk", "ca", "us", "pubmed", "openreview"]
LIVE_SOURCES: tuple[LiveSource, ...] = get_args(LiveSource)
UkChamber = Literal["debates", "westminhall", "lordspages"]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    local = parts.hostname in {"127.0.0.1", "localhost"}
    if not (parts.scheme == "https" or (parts.scheme == "http" and local)) or not parts.hostname or parts.query:
        raise ValueError(f"{url!r} is not a base URL: use https://host/path (plain http for this machine only)")
    return url.rstrip("/")


def _session(name: str) -> str:
    if not re.fullmatch(r"\d+-\d", name):
        raise ValueError(f"session {name!r} is not <parliament>-<session>, such as 44-1")
    return name


BaseUrl = Annotated[str, AfterValidator(_origin)]
Interval = Annotated[float, Field(ge=0)]


class Requests(Parameters):
    """Patience with one request: waits double from `first_wait` seconds, or are what the server asks for."""

    attempts: int = Field(6, ge=1)
    first_wait: float = Field(2.0, ge=0)
    longest_wait: float = Field(600.0, gt=0)
    timeout: float = Field(60.0, gt=0)
    largest_body: int = Field(256 * 2**20, gt=0)


class Preprints(Parameters):
    """The bioRxiv and medRxiv `details` API."""

    base_url: BaseUrl = "https://api.biorxiv.org"
    interval: Interval = 1.0


class UnitedKingdom(Parameters):
    """TheyWorkForYou's XML: a directory a chamber."""

    base_url: BaseUrl = "https://www.theyworkforyou.com/pwdata/scrapedxml"
    interval: Interval = 1.0
    chambers: Annotated[tuple[UkChamber, ...], BeforeValidator(words)] = get_args(UkChamber)


class Canada(Parameters):
    """House of Commons Hansard; its sittings are found with openparliament.ca, session by session."""

    base_url: BaseUrl = "https://www.ourcommons.ca"
    listing_url: BaseUrl = "https://api.openparliament.ca"
    interval: Interval = 1.0
    sessions: Annotated[tuple[Annotated[str, AfterValidator(_session)], ...], BeforeValidator(words)] = (
        "44-1",
        "45-1",
    )


class UnitedStates(Parameters):
    """The Congressional Record on govinfo: a list of packages (needs a key), then one package a day."""

    base_url: BaseUrl = "https://www.govinfo.gov"
    listing_url: BaseUrl = "https://api.govinfo.gov"
    interval: Interval = 1.0
    page_size: int = Field(1000, ge=1, le=1000)


class PubMed(Parameters):
    """NCBI E-utilities: what `term` finds in a week, by Entrez date; `largest_search` is PubMed's own limit."""

    base_url: BaseUrl = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
    interval: Interval = 0.34
    term: str = "hasabstract AND english[lang]"
    batch: int = Field(200, ge=1, le=500)
    largest_search: int = Field(9999, ge=1)


class OpenReview(Parameters):
    """OpenReview API v1: submissions with their direct replies, an invitation at a time."""

    base_url: BaseUrl = "https://api.openreview.net"
    interval: Interval = 1.0
    invitations: Annotated[tuple[str, ...], BeforeValidator(words)] = ("ICLR.cc/2023/Conference/-/Blind_Submission",)
    page_size: int = Field(500, ge=1, le=1000)


class Ingest(Parameters):
    """One pull of one source: every whole week that holds a day from `from_date` to `to_date` (null: today).

    A week is pulled when it has been over for `settle_days`, once and for all. `on_mismatch: record` keeps a window
    whose counts do not add up in `window_attempts` pulls, and says so in its `_done.json`; `on_failed_window: continue`
    goes on past one that cannot be had. `today` is for repeating a pull exactly.
    """

    source: LiveSource | None = None
    raw_dir: str | None = None
    from_date: datetime.date = datetime.date(2023, 4, 1)
    to_date: datetime.date | None = None
    today: datetime.date | None = None
    settle_days: int = Field(14, ge=0)
    window_attempts: int = Field(3, ge=1)
    on_mismatch: Literal["stop", "record"] = "stop"
    on_failed_window: Literal["stop", "continue"] = "stop"
    requests: Requests = Requests()
    preprints: Preprints = Preprints()
    uk: UnitedKingdom = UnitedKingdom()
    ca: Canada = Canada()
    us: UnitedStates = UnitedStates()
    pubmed: PubMed = PubMed()
    openreview: OpenReview = OpenReview()

    @model_validator(mode="after")
    def _dates_in_order(self) -> Self:
        if self.to_date is not None and self.to_date < self.from_date:
            raise ValueError(f"ingest.from_date {self.from_date} is after ingest.to_date {self.to_date}: swap them")
        return self
