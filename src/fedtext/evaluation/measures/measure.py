"""What a measure is: a value that says how it is taken, how it is written, and which way is better.

There are three kinds. `OnHeldOut` is counted on held-out texts, so it has intervals; most are `PerText`, a ratio of
sums, with paired differences and a share of the gap as well (evaluation.paired). `Distance` is how far a set of texts
is from held-out text. `OfTexts` is a property of a set of texts alone. The kind says where a scorecard keeps the value.
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


class Direction(Enum):
    """Which way a measure is better; the value is the sign of an improvement."""

    HIGHER = 1
    LOWER = -1

    @property
    def word(self) -> str:
        """`higher` or `lower`."""
        return self.name.lower()


@dataclass(frozen=True)
class Unit:
    """A number is written `scale` times as large with `mark` behind it; a difference is counted in `step`."""

    scale: float = 1.0
    mark: str = ""
    step: str = ""


NUMBER, SHARE, NATS = Unit(), Unit(100.0, "%", "points"), Unit(1.0, " nats", "nats")


@dataclass(frozen=True)
class Extra:
    """A package that a measure is taken by and that not everybody installs, and the module that it brings."""

    module: str
    package: str

    def refuse_absent(self, measure: str) -> None:
        """Raises ValueError where the package is not installed."""
        if importlib.util.find_spec(self.module) is None:
            raise InputError(
                f"{measure} needs the package {self.package}, which is not installed: pip install {self.package}, or "
                f"leave {measure} out of evaluation.measures"
            )


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure by `name`, its key in scorecards and parameters.

    Args:
        name: Key of the value.
        title: In sentences and on axes.
        direction: Which way is better.
        unit: How the value is scaled and marked.
        decimals: Of the scaled value.
        noun: Where the context is known; by default the title.
        column: Head of a table's column; by default the title.
        needs: The package that it is taken by, where that is an extra.
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
        """`0.1234` as `12.3%`; None as a dash."""
        return ABSENT if value is None else f"{self.number(value)}{self.unit.mark}"

    def number(self, value: float) -> str:
        """The scaled value without its mark."""
        return f"{self.unit.scale * value:.{self.decimals}f}"

    def change(self, difference: float) -> str:
        """The scaled difference with its sign, without its unit: `+1.2`."""
        return f"{self.unit.scale * difference:+.{self.decimals}f}"

    def improvement(self, difference: float) -> float:
        """`difference` with the sign that makes more of it better."""
        return self.direction.value * difference

    @property
    def axis(self) -> str:
        """What marks an axis or a column of bare numbers: `, %`."""
        return f", {mark}" if (mark := self.unit.mark.strip()) else ""

    def within(self, card: Mapping[str, Any], condition: str) -> float | None:
        """The value of a condition in a scorecard; None where it was not taken."""
        table: Any = card
        for key in self.HOME:
            table = (table or {}).get(key)
        value: float | None = (table or {}).get(condition, {}).get(self.name)
        return value


class Counts(NamedTuple):
    """What a measure counts in each held-out text, and out of how much."""

    numerator: Shaped[np.ndarray, " text"]
    denominator: Shaped[np.ndarray, " text"]


Scored = Mapping[str, np.ndarray]  # what one condition's scoring counted in every held-out text, by name


@dataclass(frozen=True, kw_only=True)
class OnHeldOut(Measure):
    """Counted on held-out texts, after training on a condition's."""

    HOME = ("accuracy", "conditions")

    @abstractmethod
    def ratio(self, scored: Scored, clusters: Int[np.ndarray, " text"] | None = None) -> Ratio:
        """The value with the error of sampling whole `clusters` (a text's client; by default each text)."""


@dataclass(frozen=True, kw_only=True)
class PerText(OnHeldOut):
    """A ratio of sums over held-out texts, such as tokens right over tokens seen.

    `counts` reads both from what a condition's scoring left; `counted` names what the denominator counts.
    """

    counts: Callable[[Scored], Counts]
    counted: str

    def ratio(self, scored: Scored, clusters: Int[np.ndarray, " text"] | None = None) -> Ratio:
        """The value with the error of sampling whole `clusters` (a text's client; by default each text).

        Raises:
            ValueError: there is nothing to divide by: every text is empty.
        """
        found = self.counts(scored)
        if found.denominator.sum() == 0:
            raise InputError(f"{self.title}: the held-out texts hold no {self.counted} to score")
        return clustered_ratio(found.numerator, found.denominator, clusters)


@dataclass(frozen=True, kw_only=True)
class Distance(Measure):
    """How far the embeddings of a set of texts are from those of held-out text.

    Args:
        value: Takes it of exact embeddings; None where only a priced evaluation has it. It may find too few texts.
        floor: Takes it of held-out text against itself, where that tells more than 0 or 1 would; FID's is every
            report's.
        fewest: Texts a side, below which it is not taken.
        curve: Title of its curve over the rounds; none without one.
        rough: Written with no more digits than FID's floor supports.
    """

    HOME = ("distribution", "sets")

    value: Callable[[HeldOut, Float[np.ndarray, "text dim"]], float | None] | None = None
    floor: Callable[[HeldOut], Bias | None] | None = None
    fewest: int = 0
    curve: str = ""
    rough: bool = False


@dataclass(frozen=True, kw_only=True)
class OfTexts(Measure):
    """A property of a set of texts alone; it costs no privacy and needs no model."""

    HOME = ("texts", "sets")

    value: Callable[[Sequence[str]], float]
