"""What all releases of one data set cost together, whichever runs, algorithms and parameters made them.

A run's ledger prices the run. People, though, are protected by the sum of what was ever made of their text: four runs
of epsilon 1 are not epsilon 1. So every answered query is kept with the data (fedtext.privacy.history) and priced here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import Field

from fedtext.params import Parameters
from fedtext.params.privacy import Adjacency, Privacy
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Part, Release
from fedtext.privacy.privacy_loss import SampledGaussian, composed_epsilon

_ROUNDING = 1e-9


class Spent(Parameters):
    """One query that private data answered.

    `release` is what was charged for it, None for a read without a mechanism (`reason`). A release of several rounds
    has an entry for each. `receipt` is the same for the same noised sum. `part` are the clients it was made of, and
    `split` says how clients were told apart: under another split they may be other people. `budget` is what the run
    had declared, `allowed` what all of them together might spend; None on a public corpus, where nothing is refused.
    """

    node: str
    release: Release | None
    reason: str = ""
    round: int = Field(ge=0)
    receipt: str
    part: Part
    split: str
    adjacency: Adjacency
    delta: float
    budget: float
    allowed: float | None

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for one and the same answer."""
        return (self.release, self.reason, self.round, self.receipt, self.part)


class TotalExceeded(BudgetExceeded):
    """A run would overdraw what all releases of the data set together may cost."""

    def __init__(self, *, allowed: float, spent: float, total: float, asked: str, on: str) -> None:
        self.budget, self.spent, self.asked, self.total = allowed, spent, total - spent, total
        ValueError.__init__(
            self,
            f"all releases of this data set together may cost epsilon {allowed:.6g}; {spent:.6g} is spent ({on}); "
            f"{asked} would make it {total:.6g}. Nothing was read. Use what is there, or raise privacy.total_epsilon "
            "if the people behind the data agree to it",
        )


def total_epsilon(history: Sequence[Spent], ledger: Ledger, split: str, planned: Sequence[Release] = ()) -> float:
    """Epsilon of all that was released of the ledger's clients, and of `planned` with it.

    At the smallest delta that any of the runs declared, under the ledger's adjacency. `split` is how clients are told
    apart now: entries of the other part count where it was another, for then they may be of the same people. What was
    released under single records bounds the loss of no client, who holds any number of them.
    """
    mine, unit = [entry for entry in history if _is_of(entry, ledger, split)], ledger.declaration.unit
    if any(entry.release is None or (entry.release.unit, unit) == ("record", "client") for entry in mine):
        return math.inf
    made = [_for_unit(release, ledger.declaration) for release in _distinct(mine)]
    kinds = [*made, *(release.as_sampled() for release in planned)]
    delta = min([ledger.declaration.delta, *(entry.delta for entry in mine)])
    return composed_epsilon(kinds, delta=delta, adjacency=ledger.declaration.adjacency)


def refuse_overdraft(
    history: Sequence[Spent],
    ledger: Ledger,
    split: str,
    planned: Sequence[Release],
    *,
    allowed: float,
    unaccounted: bool = False,
) -> None:
    """Raise if `planned` new releases (or a read without a mechanism) cost more than is left.

    Raises:
        TotalExceeded: naming what is spent, on what, and the remedy.
    """
    if not planned and not unaccounted:
        return
    total = math.inf if unaccounted else total_epsilon(history, ledger, split, planned)
    if total > allowed * (1 + _ROUNDING):
        asked = ", ".join(dict.fromkeys(f"'{release.name}'" for release in planned)) or "a read without a mechanism"
        raise TotalExceeded(
            allowed=allowed,
            spent=total_epsilon(history, ledger, split),
            total=total,
            asked=asked,
            on=", ".join(spent_on(history, ledger, split)) or "nothing",
        )


def not_yet_made(history: Sequence[Spent], ledger: Ledger, split: str) -> list[Release]:
    """Of what the ledger was opened for, what has no entry yet: a run that is resumed or repeated makes nothing new."""
    made = [entry.release for entry in history if entry.release is not None and _is_of(entry, ledger, split)]
    return [
        plan
        for plan in ledger.planned or ()
        if not any((plan.name, plan.round) == (one.name, one.round) and plan.as_noisy_as(one) for one in made)
    ]


def spent_on(history: Sequence[Spent], ledger: Ledger, split: str) -> list[str]:
    """In words, what the ledger's clients have paid for: each release's name, how many, and what they cost alone."""
    mine = [entry for entry in history if _is_of(entry, ledger, split)]
    words = []
    for name in dict.fromkeys(entry.release.name if entry.release else entry.reason for entry in mine):
        own = [entry for entry in mine if (entry.release.name if entry.release else entry.reason) == name]
        kinds = list(_distinct(own))
        words.append(f"'{name}' x {len(kinds)}: {total_epsilon(own, ledger, split):.4g}")
    return words


def _is_of(entry: Spent, ledger: Ledger, split: str) -> bool:
    """Whether the entry may be of people that the ledger protects."""
    return entry.part == ledger.part or entry.split != split


def _for_unit(release: Release, declaration: Privacy) -> SampledGaussian:
    """The release's price for the declared unit: a record more or less replaces what its client sends, drawn or not."""
    kind = release.as_sampled()
    if release.unit == declaration.unit:
        return kind
    further = 1 if declaration.adjacency == "replace_one" else 2  # replacing is what replace_one prices anyway
    return replace(kind, sampling="full", rate=1.0, shift=further * kind.shift)


def _distinct(entries: Sequence[Spent]) -> Iterator[Release]:
    """Each different release once. The same plan on two data sets is two, and both drew the same clients."""
    receipts = {(entry.release, entry.round, entry.receipt) for entry in entries if entry.release is not None}
    by_round = Counter((release, round) for release, round, _ in receipts)
    times: dict[Release, int] = {}
    for (release, _), count in by_round.items():
        times[release] = max(count, times.get(release, 0))
    for release, count in times.items():
        drawn = release if count == 1 else release.model_copy(update={"sampling": "full", "rate": 1.0})
        for _ in range(count):
            yield drawn
