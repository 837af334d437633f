"""Time as the clients see it: injected, so that tests never sleep; and the limiter that keeps requests apart."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True)
class Clock:
    """Three faces of time: seconds that only grow, the calendar in UTC, and waiting."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime.datetime] = _utc_now
    sleep: Callable[[float], None] = time.sleep


class RateLimiter:
    """Keeps the starts of requests at least `interval` seconds apart."""

    def __init__(self, interval: float, clock: Clock) -> None:
        self._interval, self._clock = interval, clock
        self._next: float | None = None

    def slow_down(self, interval: float) -> None:
        """Keeps requests at least so many seconds apart from now on, if that is more than before."""
        self._interval = max(self._interval, interval)

    def wait(self) -> None:
        """Returns when the next request may start, and counts it as started."""
        now = self._clock.monotonic()
        if self._next is not None and now < self._next:
            self._clock.sleep(self._next - now)
            now = max(self._next, self._clock.monotonic())
        self._next = now + self._interval
