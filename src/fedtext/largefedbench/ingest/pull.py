"""A pull: the windows of one source, one after the other, each stored whole or not at all."""

from __future__ import annotations

import datetime
import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from fedtext.largefedbench.ingest import credentials
from fedtext.largefedbench.ingest.biorxiv import Preprints
from fedtext.largefedbench.ingest.canada import Canada
from fedtext.largefedbench.ingest.errors import IngestError, RefusedError, StoredWindowError, UnsteadyWindowError
from fedtext.largefedbench.ingest.http_client import Clock, HttpClient
from fedtext.largefedbench.ingest.openreview import OpenReview
from fedtext.largefedbench.ingest.pubmed import PubMed
from fedtext.largefedbench.ingest.raw_store import Page, RawStore, Tally, Window
from fedtext.largefedbench.ingest.uk import UnitedKingdom
from fedtext.largefedbench.ingest.us import UnitedStates
from fedtext.params.ingest import LIVE_SOURCES, Ingest, LiveSource
from fedtext.system.progress import progress

LOG = logging.getLogger(__name__)


class Source(Protocol):
    """Interface of a source's module."""

    def windows(self, params: Ingest, today: datetime.date) -> list[Window]:
        """Return all requested windows, in the order in which they are pulled."""

    def query(self, window: Window) -> dict[str, Any]:
        """Return what identifies the window's content beside its name; it is recorded, and compared on resuming."""

    def pages(self, window: Window, tally: Tally) -> Iterator[Page]:
        """Return the window's pages in order; fills in the tally."""


def pull(params: Ingest, *, clock: Clock | None = None, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Pull the requested windows that are not there yet into `<raw_dir>/<source>/`; return what was done, in numbers.

    Raises:
        RefusedError: Source, directory, contact or credential is missing or refused, or the source refuses requests.
        IngestError: A window failed (unless `on_failed_window` is `continue`); the windows before it are kept.
    """
    if params.source is None or params.raw_dir is None:
        raise RefusedError(
            f"nothing to pull: --params ingest.source=<{'|'.join(LIVE_SOURCES)}>,ingest.raw_dir=DIR",
            code="nothing-to-pull",
            parameter="ingest.source",
        )
    clock = clock or Clock()
    today = params.today or clock.now().date()
    store = RawStore(Path(params.raw_dir).expanduser() / params.source)
    client = HttpClient(credentials.contact(environment), _interval(params, params.source), params.requests, clock)
    try:
        source = open_source(params.source, params, client, environment)
        with store.locked():
            return _pull_windows(params, source, store, today)
    finally:
        client.close()


def pull_summary(report: dict[str, Any]) -> str:
    """Return a summary of a pull in one line, for the user."""
    counts = Counter(report | {"failed": len(report["failed"])})
    came = f"{counts['pages']} pages, {counts['records']} records"
    lost = f"{counts['missing']} missing, {counts['rejected']} rejected, {counts['failed']} windows failed"
    windows = f"{counts['windows_done_before']} there before, {counts['windows_waiting']} not settled yet"
    return f"{report['source']}: {counts['windows_pulled']} windows pulled ({came}; {lost}), {windows}"


def open_source(name: LiveSource, params: Ingest, client: HttpClient, environment: Mapping[str, str]) -> Source:
    """Return the source of that name."""
    if name in {"biorxiv", "medrxiv"}:
        return Preprints(name, params, client)
    if name == "uk":
        return UnitedKingdom(params, client)
    if name == "ca":
        return Canada(params, client)
    if name == "us":
        return UnitedStates(params, client, environment)
    if name == "pubmed":
        return PubMed(params, client, environment)
    return OpenReview(params, client, environment)


def _interval(params: Ingest, name: LiveSource) -> float:
    interval: float = getattr(params, "preprints" if name in {"biorxiv", "medrxiv"} else name).interval
    return interval


def _pull_windows(params: Ingest, source: Source, store: RawStore, today: datetime.date) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    failed: dict[str, str] = {}
    windows = source.windows(params, today)
    settled = [window for window in windows if window.settled(today, params.settle_days)]
    counts["windows_waiting"] = len(windows) - len(settled)
    for window in progress(settled, f"pulling {params.source}", unit="window"):
        try:
            if store.is_done(window, source.query(window)):
                counts["windows_done_before"] += 1
                continue
            done = _pull_window(params, source, store, window, today)
        except (RefusedError, StoredWindowError):
            raise
        except IngestError as error:
            if params.on_failed_window == "stop":
                raise
            LOG.warning("window %s of %s failed: %s", window.name, params.source, error)
            failed[window.name] = str(error)
            continue
        counts["windows_pulled"] += 1
        counts.update({name: len(done[name]) for name in ("pages", "missing", "rejected")})
        counts.update({"records": done["records"], "windows_not_reconciled": int(not done["reconciled"])})
    LOG.info("%s: %s; %d windows failed", params.source, dict(counts), len(failed))
    return {"source": params.source, "raw_dir": str(store.root), **counts, "failed": failed}


def _pull_window(
    params: Ingest, source: Source, store: RawStore, window: Window, today: datetime.date
) -> dict[str, Any]:
    """Pull one window, and again if it changed meanwhile."""
    for attempt in range(1, params.window_attempts + 1):
        tally = Tally()
        last = attempt == params.window_attempts
        try:
            return store.write(
                window, source.query(window), source.pages(window, tally), tally, retrieved=today.isoformat(),
                strict=not (last and params.on_mismatch == "record"),
            )  # fmt: skip
        except UnsteadyWindowError as error:
            if last:
                raise
            LOG.warning("%s; pulling it again (%d of %d)", error, attempt + 1, params.window_attempts)
    raise AssertionError("window_attempts is at least 1")
