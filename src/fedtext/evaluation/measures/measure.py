"""Types of measures: how a value is computed and formatted, and which direction is better.

There are three kinds. `OnHeldOut` is counted on held-out texts, so it has intervals; its subclass `PerText` is a ratio
of sums, with paired differences and a share of the gap as well (`evaluation.paired`). `Distance` compares the
embeddings of a set of texts with those of held-out text. `TextProperty` is a property of a set of texts alone. The kind
determines where a scorecard keeps the value.
"""

from __future__ import annotations

import importlib.util
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from fedtext.evaluation.ratios import Ratio, clustered_ratio
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from fedtext.evaluation.distribution import Bias, HeldOut

ABSENT = "–"


def fixed(value: float, decimals: int) -> str:
    """Format a number with so many decimals; one that rounds to zero has no sign."""
    return f"{value:z.{decimals}f}"


class Direction(Enum):
    """The direction in which a measure improves; the value is the sign of an improvement."""

    HIGHER = 1
    LOWER = -1

    @property
    def word(self) -> str:
        """The direction as a word, `higher` or `lower`."""
        return self.name.lower()


@dataclass(frozen=True)
class Unit:
    """Format of a number: multiplied by `scale`, followed by `mark`; differences are in units of `step`."""

    scale: float = 1.0
    mark: str = ""
    step: str = ""


NUMBER, SHARE, NATS = Unit(), Unit(100.0, "%", "points"), Unit(1.0, " nats", "nats")


@dataclass(frozen=True)
class Extra:
    """An optional package that a measure needs, and the module to import from it."""

    module: str
    package: str

    def validate_installed(self, measure: str) -> None:
        """Raise ValueError if the package is not installed."""
        if importlib.util.find_spec(self.module) is None:
            raise InputError(
                f"{measure} needs the package {self.package}, which is not installed: pip install {self.package}, or "
                f"leave {measure} out of evaluation.measures",
                code="missing-package",
                parameter="evaluation.measures",
                value=measure,
            )


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure by `name`, its key in scorecards and parameters.

    Args:
        name: Key of the value.
        title: Name in sentences and on axes.
        direction: Which direction is better.
        unit: How the value is scaled and marked.
        decimals: Decimal places of the scaled value.
        noun: Short name where the context is known; by default the title.
        column: Head of a table's column; by default the title.
        needs: The optional package that computes it, if any.
    """

    HOME: ClassVar[tuple[str, ...]]  # where a scorecard keeps it: condition -> name -> value

    name: str
    title: str
    direction: Direction
    unit: Unit = NUMBER
    decimals: int = 3
    noun: str = ""
    column: str = ""
    needs: Extra | None = None

    def __post_init__(self) -> None:
        for field in ("noun", "column"):
            object.__setattr__(self, field, getattr(self, field) or self.title)

    def shown(self, value: float | None) -> str:
        """Format a value, `12.3%` for `0.1234`; None as a dash."""
        return ABSENT if value is None else f"{self.number(value)}{self.unit.mark}"

    def number(self, value: float) -> str:
        """Format the scaled value without its unit."""
        return fixed(self.unit.scale * value, self.decimals)

    def change(self, difference: float) -> str:
        """Format the scaled difference with its sign and without its unit: `+1.2`; one that rounds to zero has none."""
        size = fixed(self.unit.scale * difference, self.decimals)
        return f"+{size}" if float(size) > 0 else size

    def improvement(self, difference: float) -> float:
        """Return `difference` with the sign that makes a larger value better."""
        return self.direction.value * difference

    @property
    def axis(self) -> str:
        """The unit as a suffix of an axis or column title: `, %`."""
        return f", {mark}" if (mark := self.unit.mark.strip()) else ""

    def within(self, card: Mapping[str, Any], condition: str) -> float | None:
        """Return the value of a condition in a scorecard; None where it is not there."""
        table: Any = card
        for key in self.HOME:
            table = (table or {}).get(key)
        value: float | None = (table or {}).get(condition, {}).get(self.name)
        return value


class Counts(NamedTuple):
    """A measure's numerator and denominator for each held-out text."""

    numerator: Shaped[np.ndarray, " text"]
    denominator: Shaped[np.ndarray, " text"]


Scored = Mapping[str, np.ndarray]  # counts of one condition for every held-out text, by name


@dataclass(frozen=True, kw_only=True)
class OnHeldOut(Measure):
    """A measure on held-out texts, after training on a condition's texts."""

    HOME = ("accuracy", "conditions")

    @abstractmethod
    def ratio(self, scored: Scored, clusters: Int[np.ndarray, " text"] | None = None) -> Ratio:
        """Compute the value with the standard error of sampling whole `clusters` (clients; by default single texts)."""


@dataclass(frozen=True, kw_only=True)
class PerText(OnHeldOut):
    """A ratio of sums over held-out texts, such as correct tokens over scored tokens.

    `counts` reads both sums from the scoring of a condition; `counted` names what the denominator counts.
    """

    counts: Callable[[Scored], Counts]
    counted: str

    def ratio(self, scored: Scored, clusters: Int[np.ndarray, " text"] | None = None) -> Ratio:
        """Compute the value with the standard error of sampling whole `clusters` (clients; by default single texts).

        Raises:
            ValueError: the denominator is zero, since every text is empty.
        """
        found = self.counts(scored)
        if found.denominator.sum() == 0:
            raise InputError(
                f"{self.title}: the held-out texts hold no {self.counted} to score", code="nothing-held-out-to-score"
            )
        return clustered_ratio(found.numerator, found.denominator, clusters)


@dataclass(frozen=True, kw_only=True)
class Distance(Measure):
    """A distance between the embeddings of a set of texts and those of held-out text.

    Args:
        value: Computes it from exact embeddings, or returns None for too few texts; None for distances that only a DP
            evaluation has.
        floor: Computes the self-distance of held-out text, where it is not simply 0 or 1; FID's is in every report.
        fewest: Least number of texts a side.
        curve: Title of its curve over the rounds; none without one.
        rough: Whether it is written with no more digits than FID's self-distance supports.
    """

    HOME = ("distribution", "sets")

    value: Callable[[HeldOut, Float[np.ndarray, "text dim"]], float | None] | None = None
    floor: Callable[[HeldOut], Bias | None] | None = None
    fewest: int = 0
    curve: str = ""
    rough: bool = False


@dataclass(frozen=True, kw_only=True)
class TextProperty(Measure):
    """A property of a set of texts alone; it costs no privacy and needs no model."""

    HOME = ("texts", "sets")

    value: Callable[[Sequence[str]], float]
