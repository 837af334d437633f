"""A clock that never sleeps, a client on it, and a pull of one source against a mocked or local server."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedtext.largefedbench.ingest.http_client import Clock, HttpClient
from fedtext.largefedbench.ingest.pull import pull
from fedtext.params.ingest import Ingest, Requests
from tests.parameters import conf_base

CONTACT = "corpus@example.org"
ENVIRONMENT = {"FEDTEXT_CONTACT": CONTACT, "GOVINFO_API_KEY": "govinfo-secret-1"}
NOON = datetime.datetime(2024, 6, 1, 12, 0, tzinfo=datetime.UTC)


class FakeTime:
    """Time passes only by sleeping; every wait is written down."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.seconds, lambda: NOON + datetime.timedelta(seconds=self.seconds), self.sleep)


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def client(time: FakeTime) -> HttpClient:
    return HttpClient(
        CONTACT, 0.0, conf_base(Requests, attempts=3, first_wait=1.0, longest_wait=100.0, robots="ignore"), time.clock
    )


@pytest.fixture
def pull_week(tmp_path: Path, time: FakeTime) -> Callable[..., dict[str, Any]]:
    """Pulls the week of 18 March 2024 (2024-W12) of a source; parameters as keywords, `environment` among them."""

    def run(source: str, *, environment: dict[str, str] = ENVIRONMENT, **values: Any) -> dict[str, Any]:
        dates = {"from_date": "2024-03-18", "to_date": "2024-03-24", "today": "2024-06-01"}
        requests = {"attempts": 3, "first_wait": 1.0, "longest_wait": 100.0, "robots": "ignore"}
        asked = {"source": source, "raw_dir": str(tmp_path), "requests": requests, **dates, **values}
        return pull(conf_base(Ingest, asked), clock=time.clock, environment=environment)

    return run
