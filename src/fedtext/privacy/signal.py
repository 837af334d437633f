"""Signal and noise of a run's releases, from public values alone: whether the noise drowns what the units can say.

The signal of a release is the most that all its units can say together: as if each contributed its clip norm, all in
one direction. The noise is compared with it in the way in which the release is used:

    use         noise                                               signal
    Vector      length of the noise vector, s sqrt(numbers)         units asked
    Votes       largest noise among the candidates, s sqrt(2 ln k)  units asked, all voting for one candidate
    Training    length over all steps together, s sqrt(d steps)     units in a batch x steps

s is the standard deviation of the noise in one number, as it is drawn, over the clip norm. Real units never agree as
much, so a ratio of 1 is far too much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from fedtext.params import Parameters
from fedtext.params.privacy import Unit

# Noise over signal beyond which a run is warned of (docs/decisions/0048). Training uses few of the directions in which
# its noise lies.
TOLERABLE = {"vector": 0.25, "votes": 0.25, "training": 1.0}


@dataclass(frozen=True)
class Vector:
    """A sum that is used as a whole; `span`: the numbers that its noise has left where it is projected."""

    span: int | None = None


@dataclass(frozen=True)
class Votes:
    """Counts, one a candidate, of which the largest are used."""


@dataclass(frozen=True)
class Training:
    """Steps of one training, which add up."""


Use = Vector | Votes | Training
AS_A_WHOLE = Vector()


class Signal(Parameters):
    """Signal and noise of the releases of one name.

    Attributes:
        release: The releases' name.
        use: How they are used.
        unit: The unit of privacy.
        population: The units that may be asked.
        asked: The expected units of one release.
        numbers: The numbers whose noise counts.
        noise: Standard deviation of the noise in one number, as it is drawn, over the clip norm.
        draws: How many data holders add all of the noise; 1 unless aggregation is local.
        steps: How many releases add up.
    """

    release: str
    use: Literal["vector", "votes", "training"]
    unit: Unit
    population: int = Field(ge=1)
    asked: float = Field(gt=0)
    numbers: int = Field(ge=1)
    noise: float = Field(gt=0)
    draws: float = Field(1, ge=1)
    steps: int = Field(1, ge=1)

    @property
    def ratio(self) -> float:
        """Noise over signal."""
        spread = math.sqrt(2 * math.log(max(self.numbers, 2))) if self.use == "votes" else math.sqrt(self.numbers)
        return self.noise * spread / (self.asked * math.sqrt(self.steps))

    @property
    def drowns(self) -> bool:
        """Whether the noise is beyond what is tolerable."""
        return self.ratio > TOLERABLE[self.use]

    @property
    def of_one_step(self) -> float:
        """Noise over signal of one release alone."""
        return self.ratio * math.sqrt(self.steps)

    def population_for(self, ratio: float) -> int:
        """Return the least population with at most this ratio, asked at the same rate, with the same multiplier.

        Under local noise every further unit brings noise of its own, so the ratio falls with the square root alone.
        """
        factor = self.ratio / ratio
        return math.ceil(self.population * (factor**2 if self.draws > 1 else factor))
