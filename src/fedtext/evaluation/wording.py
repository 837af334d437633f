"""Format numbers for the report, with no more digits than the noise supports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fedtext.evaluation.measures.measure import ABSENT, SHARE, Measure, PerText, Unit, fixed

MEASURED, UNKNOWN = "95% interval", "interval unknown: one client"
USELESS = 1e5  # epsilon of a run with next to no noise
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def change(measure: PerText, gain: Mapping[str, Any]) -> str:
    """Format a difference in a measure with its interval, without its unit: `+1.2 (0.9 to 1.5)`."""
    return f"{measure.change(gain['estimate'])} ({_ends(gain, measure.unit, measure.decimals)})"


def share(closed: Mapping[str, Any] | None) -> str:
    """Format the share of the gap closed in whole percent with its interval, or the reason why there is none."""
    if closed is None:
        return ABSENT
    if closed["share"] is None:
        return "no gap"
    return f"{fixed(100 * closed['share'], 0)}% ({_ends(closed, SHARE, 0)})"


def share_ends(closed: Mapping[str, Any]) -> str:
    """Format the ends of a share's interval in whole percent: `-3% to 27%`."""
    ends = _ends(closed, SHARE, 0)
    return ends if ends == UNKNOWN else " to ".join(f"{end}%" for end in ends.split(" to "))


def interval(measure: Measure, ends: Mapping[str, Any]) -> str:
    """Format the ends `low` and `high` of an interval of a measure, without its unit: `0.9 to 1.5`."""
    return _ends(ends, measure.unit, measure.decimals)


def _ends(interval: Mapping[str, Any], unit: Unit, decimals: int) -> str:
    ends = [interval["low"], interval["high"]]
    if any(end is None or not math.isfinite(end) for end in ends):
        return UNKNOWN
    return " to ".join(fixed(unit.scale * end, decimals) for end in ends)


def rounded(value: float, error: float | None, most: int = 3) -> str:
    """Round `value` to the leading digit of `error`, at most `most` decimals: 0.3561 -+ 0.02 is `0.36`."""
    if error is None or not math.isfinite(error) or error <= 0:
        return fixed(value, most)
    decimals = min(max(-math.floor(math.log10(error)), 0), most)
    return fixed(value, decimals)


def count(number: int | float) -> str:
    """Format a count, `1,234,567` for `1234567`; an expected count such as 0.421 as `0.42`."""
    return f"{number:,.0f}" if number == int(number) else f"{number:.2g}"


def compact(number: int | float) -> str:
    """Format a large number: `82M` for `82000000`, `6.9M` for `6912000`, `18,000` for `18000`."""
    if number < 1e6:
        return count(number)
    return f"{number / 1e6:.1f}M".replace(".0M", "M") if number < 9.95e6 else f"{number / 1e6:,.0f}M"


def spent(epsilon: float, decimals: int = 2) -> str:
    """Format an epsilon, rounded up so that no guarantee is printed stronger than it is; a huge one is shortened."""
    if epsilon >= USELESS:
        tenth = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
        return scientific(math.ceil(epsilon / tenth - 1e-6) * tenth)
    scale = 10.0**decimals
    return f"{math.ceil(epsilon * scale - 1e-6) / scale:.{decimals}f}"


def scientific(number: float) -> str:
    """Format a number in powers of ten: `3 × 10⁻⁶` for `3e-06`, `10⁻⁵` for `1e-05`."""
    digits, _, exponent = f"{number:.1e}".partition("e")
    power = "10" + str(int(exponent)).translate(SUPERSCRIPT)
    return power if digits == "1.0" else f"{digits.removesuffix('.0')} × {power}"


def seconds(duration: int | float | None) -> str:
    """Format a duration with two significant digits; None as a dash."""
    if duration is None or not math.isfinite(duration):
        return ABSENT
    if duration == 0:
        return "0 s"
    decimals = max(1 - math.floor(math.log10(abs(duration))), 0)
    return f"{duration:,.{decimals}f} s"


def size(number_of_bytes: int | float) -> str:
    """Format a number of bytes: `8.2 kB` for `8192`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number_of_bytes >= scale:
            return f"{number_of_bytes / scale:.1f} {unit}"
    return f"{number_of_bytes:.0f} B"
