"""Durations in words."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Format a duration no more exactly than it is known: `40 s`, `3 min`, `2.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:,.1f} h"
