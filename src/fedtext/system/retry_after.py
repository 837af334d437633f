"""How long a server asks to wait (RFC 9110, section 10.2.3): a number of seconds or an HTTP date."""

from __future__ import annotations

import datetime
from email.utils import parsedate_to_datetime


def retry_after(value: str | None, now: datetime.datetime) -> float | None:
    """Return the seconds from `now` that a `Retry-After` header asks for.

    A past date gives 0, a header without a usable value None.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # no date, or one with an absurd year or time zone
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return max(0.0, (moment - now).total_seconds())
