"""Rates of what was counted, half-year by half-year, with their deviations: has a source changed its pages?

A rate is a count per turn. Turns of one page are alike, so pages, not turns, are what varies: the deviation of a rate is
that of a ratio of sums over independent pages, which a few sums of squares give. They add up over shards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

TURNS = "turns"
FEWEST_PAGES = 5  # on either side of a comparison: a deviation of fewer says little


class Rate(NamedTuple):
    """A count per turn, and its standard deviation over pages."""

    value: float
    deviation: float


class Move(NamedTuple):
    """A rate that moved: by how many deviations, from and to how many per 1,000 turns."""

    name: str
    before: float
    after: float
    deviations: float


@dataclass
class Half:
    """Sums over the pages of a half-year: by name the count, its square, and its product with the page's turns."""

    pages: int = 0
    sums: dict[str, list[int]] = field(default_factory=dict)

    def add_page(self, counts: Mapping[str, int]) -> None:
        """Add what one page had."""
        self.pages += 1
        turns = counts.get(TURNS, 0)
        for name, number in counts.items():
            if number:
                self._grow(name, (number, number * number, number * turns))

    def add(self, other: Half) -> None:
        """Add the pages of another part."""
        self.pages += other.pages
        for name, sums in other.sums.items():
            self._grow(name, sums)

    def _grow(self, name: str, by: Iterable[int]) -> None:
        self.sums[name] = [a + b for a, b in zip(self.sums.get(name, [0, 0, 0]), by, strict=True)]

    def rate(self, name: str) -> Rate:
        """Return a count per turn with its deviation."""
        turns, turns_squared, _ = self.sums.get(TURNS, [0, 0, 0])
        number, squared, product = self.sums.get(name, [0, 0, 0])
        if not turns or self.pages < 2:
            return Rate(0.0, 0.0)
        value = number / turns
        spread = max(0.0, squared - 2 * value * product + value * value * turns_squared)
        return Rate(value, math.sqrt(self.pages / (self.pages - 1) * spread) / turns)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {"pages": self.pages, "sums": dict(sorted(self.sums.items()))}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Half:
        """Return what `as_dict` wrote."""
        return cls(value["pages"], {name: list(sums) for name, sums in value["sums"].items()})


def half_of(date: str) -> str:
    """Return the half-year of an ISO date, such as 2025H1; `undated` of none."""
    return f"{date[:4]}H{1 if date[5:7] <= '06' else 2}" if date else "undated"


def moved(before: Half, after: Half, deviations: float) -> list[Move]:
    """Return the rates that lie more than so many deviations apart, the furthest first; none if pages are too few."""
    if min(before.pages, after.pages) < FEWEST_PAGES:
        return []
    moves = (_move(name, before.rate(name), after.rate(name)) for name in {*before.sums, *after.sums} - {TURNS})
    return sorted(
        (one for one in moves if abs(one.deviations) > deviations), key=lambda one: (-abs(one.deviations), one.name)
    )


def _move(name: str, old: Rate, new: Rate) -> Move:
    both = math.hypot(old.deviation, new.deviation)
    apart = new.value - old.value
    return Move(name, 1000 * old.value, 1000 * new.value, apart / both if both else math.copysign(math.inf, apart) if apart else 0.0)
