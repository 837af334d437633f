"""The format of epsilons and tables in reports."""

from __future__ import annotations

import math
from collections.abc import Sequence


def number(epsilon: float) -> float | str:
    """Return epsilon ready for JSON, which has no infinity."""
    return "infinity" if math.isinf(epsilon) else epsilon


def shown(epsilon: float | str) -> str:
    """Format with four digits, rounded up: a report must not understate."""
    if isinstance(epsilon, str) or epsilon == 0 or math.isinf(epsilon):
        return str(epsilon)
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 3)
    return f"{math.ceil(epsilon / unit * (1 - 1e-9)) * unit:.4g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
