"""What is pulled in one piece: whole ISO weeks, so that two pulls with other dates never cut a week differently."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from fedtext.system.errors import InputError

WEEK = datetime.timedelta(days=7)


@dataclass(frozen=True)
class Window:
    """One piece of a source: its directory under `<raw_dir>/<source>/`, its days, and a part of the source if any.

    `part` is what the source divides itself into beside time: a chamber, a session, an invitation. A window without
    days is pulled whole at any time.
    """

    name: str
    first: datetime.date | None = None
    last: datetime.date | None = None
    part: str = ""

    def settled(self, today: datetime.date, settle_days: int) -> bool:
        """Whether its last day is over and `settle_days` have passed: pages are never pulled again."""
        return self.last is None or self.last + datetime.timedelta(days=settle_days) < today


def weeks(first: datetime.date, last: datetime.date, part: str = "", prefix: str = "") -> list[Window]:
    """The ISO weeks (Monday to Sunday) that hold a day from `first` to `last`, in order, named `2024-W12`."""
    monday = first - datetime.timedelta(days=first.weekday())
    windows = []
    while monday <= last:
        year, week, _ = monday.isocalendar()
        windows.append(Window(f"{prefix}{year}-W{week:02d}", monday, monday + WEEK - datetime.timedelta(days=1), part))
        monday += WEEK
    return windows


def days(window: Window) -> tuple[datetime.date, datetime.date]:
    """First and last day of a window that has days.

    Raises:
        ValueError: it has none.
    """
    if window.first is None or window.last is None:
        raise InputError(f"window {window.name} has no days")
    return window.first, window.last
