"""What a run's releases let an attacker gain: the trade-off between false alarms and what is found.

The attacker knows both neighbouring data sets and everything that was released, and guesses which of the two it was
made of. Whatever the test, the share that it finds at a share a of false alarms is at most

    min over real epsilon of  e^epsilon a + H(e^epsilon),

with H the hockey-stick divergence of the releases (Kairouz, Oh and Viswanath, 2015; Dong, Roth and Su, 2022), and of
equally likely worlds it guesses right with a probability of at most (1 + H(1)) / 2. H is what the accountant computes
epsilon from (`accounting.composed_profiles`), for all delta at once, so no delta is in the result. Some attacker
attains the bound where H is exact, as without sampling. Of the two orders of the neighbours the worse is told. The
minimum is taken over a grid of epsilons, which can only overstate the gain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fedtext.params.privacy import Adjacency
from fedtext.privacy.accounting import SampledGaussian, composed_profiles
from fedtext.privacy.ledger import Ledger

FALSE_ALARMS = 0.01  # the share of false alarms that a report states
_POSITIVE = np.geomspace(1e-3, 500.0, 2000)  # a grid with as many points for small epsilons as for large ones
_EPSILONS = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])
GUESSED = {
    "zero_out": "whether one {unit} contributed",
    "add_remove": "whether one {unit} took part",
    "replace_one": "which of two texts one {unit} held",
}


@dataclass(frozen=True)
class TradeOff:
    """A bound on every attack.

    Attributes:
        delta: The hockey-stick divergence at each of a grid of real epsilons, a row for each order of the neighbours.
    """

    delta: Float[np.ndarray, " order point"]

    @classmethod
    def of(cls, mechanisms: Iterable[Iterable[SampledGaussian]], *, adjacency: Adjacency) -> TradeOff:
        """Compute the trade-off of the releases that a unit is in; of several units with other releases, the worst."""
        different = {tuple(sorted(releases, key=repr)) for releases in mechanisms}  # silos alike are priced once
        profiles = [one for releases in different for one in composed_profiles(releases, adjacency=adjacency)]
        return cls(np.stack([np.clip(profile(_EPSILONS), 0.0, 1.0) for profile in profiles]))

    @property
    def right_at_most(self) -> float:
        """The largest share of right guesses between two equally likely worlds; one half is chance."""
        return float(1 + self.delta[:, _EPSILONS == 0].max()) / 2

    def found(self, false_alarms: Float[np.ndarray, " alarm"]) -> Float[np.ndarray, " alarm"]:
        """Compute the largest share that can be found at each share of false alarms."""
        bounds = np.exp(_EPSILONS) * false_alarms[:, None] + self.delta[:, None, :]
        return np.asarray(np.clip(bounds.min(axis=2).max(axis=0), false_alarms, 1.0))


def trade_off(ledger: Ledger) -> TradeOff | None:
    """Return the trade-off of all charged releases; None if private data were read without a mechanism."""
    if ledger.unaccounted:
        return None
    return TradeOff.of(ledger.mechanisms(), adjacency=ledger.declaration.adjacency)


def attacker(ledger: Ledger) -> dict[str, Any]:
    """Return what the privacy report says of an attacker's gain: a sentence, two numbers, and points of the curve."""
    alarms = np.concatenate([[0.0], np.logspace(-4, 0, 81)])
    bound = trade_off(ledger)
    right = 1.0 if bound is None else bound.right_at_most
    at_one, curve = (1.0, np.ones_like(alarms)) if bound is None else (_at(bound, FALSE_ALARMS), bound.found(alarms))
    return {
        "statement": _statement(ledger, right, at_one),
        "right_at_most": right,
        "found_at_most": at_one,
        "false_alarms": FALSE_ALARMS,
        "curve": {"false_alarms": alarms.tolist(), "found": curve.tolist()},
    }


def _at(bound: TradeOff, false_alarms: float) -> float:
    return float(bound.found(np.array([false_alarms]))[0])


def _statement(ledger: Ledger, right: float, found: float) -> str:
    guessed = GUESSED[ledger.declaration.adjacency].format(unit=ledger.declaration.unit)
    if ledger.unaccounted:
        return f"Nothing bounds how often an attacker guesses right {guessed}."
    if not ledger.releases:
        return f"What was made says nothing of {guessed}: a guess is right half of the time."
    return (
        f"Whoever guesses {guessed} is right at most {percent(right)} of the time, where chance is 50%; at "
        f"{percent(FALSE_ALARMS)} false alarms at most {percent(found)} are found."
    )


def percent(share: float) -> str:
    """Format a share in percent with at most one decimal, rounded up: a report must not understate."""
    return f"{math.ceil(share * 1000 - 1e-6) / 10:.3g}%"
