"""Rates of what was counted, half-year by half-year, with their deviations: has a source changed its pages?

A rate is a count per 1,000 turns. Turns of one page are alike, so pages, not turns, are what varies: the deviation of a
rate is that of a ratio of sums over independent pages, which a few sums of squares give. They add up over shards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

TURNS = "turns"
FEWEST_PAGES = 5  # on either side of a comparison: a deviation of fewer says little


class Rate(NamedTuple):
    """A count per 1,000 turns, or of turns per page, and its standard deviation over pages."""

    value: float
    deviation: float


class Move(NamedTuple):
    """A count that moved: its name with the unit, its values, and how many deviations they lie apart."""

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
        """Return a count per 1,000 turns with its deviation."""
        turns, turns_squared, _ = self.sums.get(TURNS, [0, 0, 0])
        number, squared, product = self.sums.get(name, [0, 0, 0])
        if not turns or self.pages < 2:
            return Rate(0.0, 0.0)
        value = number / turns
        spread = max(0.0, squared - 2 * value * product + value * value * turns_squared)
        return Rate(1000 * value, 1000 * math.sqrt(self.pages / (self.pages - 1) * spread) / turns)

    def turns_a_page(self) -> Rate:
        """Return the turns of a page, with the deviation of their mean."""
        turns, squared, _ = self.sums.get(TURNS, [0, 0, 0])
        if self.pages < 2:
            return Rate(0.0, 0.0)
        mean = turns / self.pages
        spread = max(0.0, squared / self.pages - mean * mean) / (self.pages - 1)
        return Rate(mean, math.sqrt(spread))

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


def moved(halves: Mapping[str, Half], half: str, deviations: float) -> list[Move]:
    """Return the counts of a half-year that lie more than so many deviations from those before it, the furthest first.

    None if either side has too few pages.
    """
    earlier = {name: one for name, one in halves.items() if name < half}
    before, after = Half(), halves.get(half, Half())
    for one in earlier.values():
        before.add(one)
    if min(before.pages, after.pages) < FEWEST_PAGES:
        return []
    names = {*before.sums, *after.sums} - {TURNS}
    moves = [_move(f"{name}, per 1,000 turns", before.rate(name), after.rate(name)) for name in names]
    moves.append(_move("turns a page", before.turns_a_page(), after.turns_a_page()))
    last = earlier[max(earlier)].pages  # of the half-year before alone
    moves.append(_move("pages", Rate(last, math.sqrt(last)), Rate(after.pages, math.sqrt(after.pages))))
    far = (one for one in moves if abs(one.deviations) > deviations)
    return sorted(far, key=lambda one: (-abs(one.deviations), one.name))


def _move(name: str, old: Rate, new: Rate) -> Move:
    both, apart = math.hypot(old.deviation, new.deviation), new.value - old.value
    if not both:
        return Move(name, old.value, new.value, math.copysign(math.inf, apart) if apart else 0.0)
    return Move(name, old.value, new.value, apart / both)
