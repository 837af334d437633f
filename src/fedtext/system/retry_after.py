"""How long a server asks to wait (RFC 9110, section 10.2.3): a number of seconds or an HTTP date."""

from __future__ import annotations

import datetime
from email.utils import parsedate_to_datetime


def retry_after(value: str | None, now: datetime.datetime) -> float | None:
    """Seconds from `now` that a `Retry-After` header asks for; 0 for a date gone by, None if it says nothing usable."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return max(0.0, (moment - now).total_seconds())
