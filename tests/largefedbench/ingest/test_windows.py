from __future__ import annotations

import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.largefedbench.ingest.windows import Window, days, weeks

DATES = st.dates(datetime.date(1990, 1, 1), datetime.date(2100, 1, 1))
DAY = datetime.timedelta(days=1)


@given(DATES, st.integers(0, 400))
def test_weeks_cover_the_days_asked_for_without_gap_or_overlap(first: datetime.date, length: int) -> None:
    last = first + length * DAY
    windows = weeks(first, last)
    assert days(windows[0])[0] <= first <= days(windows[0])[1]
    assert days(windows[-1])[0] <= last <= days(windows[-1])[1]
    assert all(days(a)[1] + DAY == days(b)[0] for a, b in pairwise(windows))
    assert [w.name for w in windows] == sorted({w.name for w in windows})


@given(DATES, st.integers(0, 100), st.integers(0, 100))
def test_a_week_is_the_same_whoever_asks(first: datetime.date, shift: int, length: int) -> None:
    one = {w.name: w for w in weeks(first, first + length * DAY)}
    other = {w.name: w for w in weeks(first + shift * DAY, first + (shift + length) * DAY)}
    assert all(one[name] == other[name] for name in one.keys() & other.keys())


def test_iso_years() -> None:
    assert [w.name for w in weeks(datetime.date(2020, 12, 28), datetime.date(2021, 1, 4))] == ["2020-W53", "2021-W01"]


def test_a_week_settles_after_it_is_over() -> None:
    window = weeks(datetime.date(2024, 3, 20), datetime.date(2024, 3, 20))[0]  # ends on the 24th
    assert not window.settled(datetime.date(2024, 3, 24), 0)
    assert window.settled(datetime.date(2024, 3, 25), 0)
    assert not window.settled(datetime.date(2024, 4, 7), 14)
    assert window.settled(datetime.date(2024, 4, 8), 14)


def test_a_window_without_days_is_always_settled() -> None:
    assert Window("conference").settled(datetime.date(1999, 1, 1), 99)
    with pytest.raises(ValueError, match="conference has no days"):
        days(Window("conference"))
