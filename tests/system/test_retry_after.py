from __future__ import annotations

import datetime

import pytest

from fedtext.system.retry_after import retry_after

NOW = datetime.datetime(2024, 6, 1, 12, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Sat, 01 Jun 2024 12:01:30 GMT", 90.0),
        ("Sat, 01 Jun 2024 14:01:30 +0200", 90.0),
        ("Saturday, 01-Jun-24 12:01:30 GMT", 90.0),
        ("Sat, 01 Jun 2024 11:00:00 GMT", 0.0),
        ("", None),
        (None, None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("²", None),
        ("Sat, 99 Jun 2024 12:01:30 GMT", None),
        ("Mon, 01 Jan 99999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999", None),
        ("Mon, 01 Jan 2024 00:00:00 -9999", None),
    ],
)
def test_seconds_and_http_dates(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds


def test_an_absurd_number_stays_a_number() -> None:
    assert retry_after("9" * 5000, NOW) == pytest.approx(1e12)
