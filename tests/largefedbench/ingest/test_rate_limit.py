from __future__ import annotations

from fedtext.largefedbench.ingest.rate_limit import RateLimiter
from tests.largefedbench.ingest.conftest import FakeTime


def test_starts_are_an_interval_apart(time: FakeTime) -> None:
    limiter = RateLimiter(1.0, time.clock)
    starts = []
    for work in (0.0, 0.25, 0.0, 3.0, 0.0):
        limiter.wait()
        starts.append(time.seconds)
        time.seconds += work
    assert starts == [0.0, 1.0, 2.0, 3.0, 6.0]
    assert time.waits == [1.0, 0.75, 1.0]


def test_no_interval_never_waits(time: FakeTime) -> None:
    limiter = RateLimiter(0.0, time.clock)
    for _ in range(5):
        limiter.wait()
    assert time.waits == []
