"""What all releases of one data set cost together, whichever runs, algorithms and parameters made them.

A run's ledger prices the run. People, though, are protected by the sum of what was ever made of their text: four runs
of epsilon 1 are not epsilon 1. So every answered query is kept with the data (fedtext.privacy.history) and priced here.

Where several parties hold the data (fedtext.privacy.parties), each has a total of its own: of all releases, over all
runs, that it took part in. The data set's total is that of the party that spent most.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from pydantic import Field

from fedtext.params import Parameters
from fedtext.params.privacy import Adjacency, Privacy
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Part, Release
from fedtext.privacy.parties import Party, Payers, bills
from fedtext.privacy.privacy_loss import SampledGaussian, composed_epsilon

_ROUNDING = 1e-9
NO_LIMITS: Mapping[str, float] = MappingProxyType({})


class Rules(NamedTuple):
    """How a run tells units apart, as digests: an earlier run may have done so in another way.

    Attributes:
        split: Which clients there are, and which of them are trained on.
        spans: How texts are cut into records.
    """

    split: str
    spans: str = ""


class Spent(Parameters):
    """One query that private data answered.

    `release` is what was charged for it, None for a read without a mechanism (`reason`). A release of several rounds
    has an entry for each. `receipt` is the same for the same noised sum. `part` are the clients it was made of, and
    `split` says how clients were told apart: under another split they may be other people. `spans` says how texts were
    cut into records: in another way, records are others. `budget` is what the run had declared, `allowed` what all of
    them together might spend; None where nothing was refused, on a public corpus or under an infinite total: which of
    the two, parameters say (`fedtext.privacy.allowance`). `budgets` are those of parties, by name, that had less than
    the run. `draw` names how units were drawn: two of different names are independent. Empty:
    it may be any. `partition` says how the run's parties divided the units (`Ledger.partition`); empty: it did not tell
    them apart.
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
    partition: str = Field("", exclude_if=operator.not_)
    draw: str = Field("", exclude_if=operator.not_)
    spans: str = Field("", exclude_if=operator.not_)
    budgets: tuple[tuple[str, float], ...] = Field((), exclude_if=operator.not_)

    @property
    def rules(self) -> Rules:
        """Those of the run that was answered."""
        return Rules(self.split, self.spans)

    def is_cut_otherwise(self, rules: Rules) -> bool:
        """Whether it protected records, and they were other ones than by these rules."""
        return self.release is not None and self.release.unit == "record" and self.spans != rules.spans

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for one and the same answer."""
        return (self.release, self.reason, self.round, self.receipt, self.part)


class TotalExceeded(BudgetExceeded):
    """A run would overdraw what all releases of the data set together may cost, or what they may cost one party."""

    def __init__(
        self, *, allowed: float, spent: float, total: float, asked: str, on: str, party: Party | None = None
    ) -> None:
        self.budget, self.spent, self.asked, self.total = allowed, spent, total - spent, total
        self.party = party.name if party else None
        whom = f" {party}" if party else ""
        ValueError.__init__(
            self,
            f"all releases of this data set together may cost{whom} epsilon {allowed:.6g}; {spent:.6g} is spent "
            f"({on}); {asked} would make it {total:.6g}. Nothing was read. Use what is there; or give other people's "
            "data a data root of their own, --params data_root=DIR; or raise privacy.total_epsilon if the people "
            "behind the data agree to it",
        )


def total_epsilon(history: Sequence[Spent], ledger: Ledger, rules: Rules, planned: Sequence[Release] = ()) -> float:
    """Epsilon of all that was released of the ledger's clients, and of `planned` with it: that of the worst party.

    At the smallest delta that any of the runs declared, under the ledger's adjacency. `rules` are those of now: entries
    of the other part count where the split was another, for then they may be of the same people. What was released
    under single records bounds the loss of no client, who holds any number of them; nor that of a record that is cut
    in another way, which may hold several.
    """
    return max(party_totals(history, ledger, rules, planned).values())


def party_totals(
    history: Sequence[Spent], ledger: Ledger, rules: Rules, planned: Sequence[Release] = ()
) -> dict[str | None, float]:
    """`total_epsilon` of each party that the ledger or its like in the history knows; of None where there is none.

    A party's name stands for the same units wherever split and partition are the same. Entries of another split or
    partition may be of anybody's units, so they count for every party.
    """
    mine = [entry for entry in history if _is_of(entry, ledger, rules)]
    payers = [*_payers(mine, ledger, rules), *(release.parties for release in planned)]
    paid = bills(payers, [party.name for party in ledger.parties])
    delta = min([ledger.declaration.delta, *(entry.delta for entry in mine)])

    def price(bill: tuple[int, ...]) -> float:
        made = [mine[at] for at in bill if at < len(mine)]
        asked = [planned[at - len(mine)] for at in bill if at >= len(mine)]
        return _price(made, asked, ledger, delta, rules)

    if not paid:
        return {None: price(tuple(range(len(mine) + len(planned))))}
    prices = {bill: price(bill) for bill in set(paid.values())}
    return {name: prices[bill] for name, bill in paid.items()}


def refuse_overdraft(
    history: Sequence[Spent],
    ledger: Ledger,
    rules: Rules,
    planned: Sequence[Release],
    *,
    allowed: float,
    each: Mapping[str, float] = NO_LIMITS,
    unaccounted: bool = False,
) -> None:
    """Raise if `planned` new releases (or a read without a mechanism) cost more than is left.

    Args:
        history: What was released before.
        ledger: Of the clients that would pay.
        rules: How units are told apart now.
        planned: What would be released.
        allowed: What everything together may cost.
        each: What it may cost single parties, by name, where that is less.
        unaccounted: Whether private data would be read without a mechanism.

    Raises:
        TotalExceeded: naming what is spent, on what, by which party, and the remedy.
    """
    if not planned and not unaccounted:
        return
    totals = {
        name: math.inf if unaccounted else total
        for name, total in party_totals(history, ledger, rules, planned).items()
        if unaccounted or any(release.costs(name) for release in planned)
    }
    for name, limit in overdrawn(totals, allowed, each):
        asked = ", ".join(dict.fromkeys(f"'{release.name}'" for release in planned)) or "a read without a mechanism"
        raise TotalExceeded(
            allowed=limit,
            spent=party_totals(history, ledger, rules).get(name, 0.0),
            total=totals[name],
            asked=asked,
            on=", ".join(spent_on(history, ledger, rules, party=name)) or "nothing",
            party=next((party for party in ledger.parties if party.name == name), None),
        )


def overdrawn(
    totals: Mapping[str | None, float], allowed: float, each: Mapping[str, float] = NO_LIMITS
) -> Iterator[tuple[str | None, float]]:
    """Parties whose total is more than is allowed, or more than is allowed them, with that limit."""
    for name, total in totals.items():
        limit = min(allowed, each.get(name, math.inf)) if name is not None else allowed
        if total > limit * (1 + _ROUNDING):
            yield name, limit


def not_yet_made(history: Sequence[Spent], ledger: Ledger, rules: Rules) -> list[Release]:
    """Of what the ledger was opened for, what has no entry yet: a run that is resumed or repeated makes nothing new."""
    mine = [entry for entry in history if _is_of(entry, ledger, rules) and not entry.is_cut_otherwise(rules)]
    made = [entry.release for entry in mine if entry.release is not None]
    return [
        plan
        for plan in ledger.planned or ()
        if not any((plan.name, plan.round) == (one.name, one.round) and plan.as_noisy_as(one) for one in made)
    ]


def spent_on(history: Sequence[Spent], ledger: Ledger, rules: Rules, party: str | None = None) -> list[str]:
    """In words, what the ledger's clients, or a party's, paid for: each name, how many, and what they cost alone."""
    mine = [entry for entry in history if _is_of(entry, ledger, rules)]
    if party is not None:
        payers = _payers(mine, ledger, rules)
        mine = [entry for entry, named in zip(mine, payers, strict=True) if named is None or party in named]
    words = []
    for name in dict.fromkeys(entry.release.name if entry.release else entry.reason for entry in mine):
        own = [entry for entry in mine if (entry.release.name if entry.release else entry.reason) == name]
        kinds = list(_distinct(own))
        cut = " of records cut in another way" if any(entry.is_cut_otherwise(rules) for entry in own) else ""
        words.append(f"'{name}' x {len(kinds)}{cut}: {total_epsilon(own, ledger, rules):.4g}")
    return words


def answers(history: Sequence[Spent], ledger: Ledger, rules: Rules) -> int:
    """How many entries `total_epsilon` prices."""
    return sum(_is_of(entry, ledger, rules) for entry in history)


def _is_of(entry: Spent, ledger: Ledger, rules: Rules) -> bool:
    """Whether the entry may be of people that the ledger protects."""
    return entry.part == ledger.part or entry.split != rules.split


def _payers(mine: Sequence[Spent], ledger: Ledger, rules: Rules) -> list[Payers]:
    """The parties that paid for each entry; None, all, where it may be of anybody's units."""
    partition = ledger.partition or next((entry.partition for entry in reversed(mine) if entry.partition), "")
    return [
        entry.release.parties if entry.release and (entry.split, entry.partition) == (rules.split, partition) else None
        for entry in mine
    ]


def _price(made: Sequence[Spent], planned: Sequence[Release], ledger: Ledger, delta: float, rules: Rules) -> float:
    """Epsilon of what was made and of what is planned, for units that all of it is of."""
    if not all(_bounds_units(entry, ledger, rules) for entry in made):
        return math.inf
    kinds = [
        *(_for_unit(release, ledger.declaration) for release in _distinct(made)),
        *(release.as_sampled() for release in planned),
    ]
    return composed_epsilon(kinds, delta=delta, adjacency=ledger.declaration.adjacency)


def _bounds_units(entry: Spent, ledger: Ledger, rules: Rules) -> bool:
    """Whether the entry's epsilon bounds what a unit of now lost by it: a record's does not bound its client's."""
    if entry.release is None:
        return False
    return entry.release.unit == "client" or (ledger.declaration.unit == "record" and not entry.is_cut_otherwise(rules))


def _for_unit(release: Release, declaration: Privacy) -> SampledGaussian:
    """The release's price for the declared unit: a record more or less replaces what its client sends, drawn or not."""
    kind = release.as_sampled()
    if release.unit == declaration.unit:
        return kind
    further = 1 if declaration.adjacency == "replace_one" else 2  # replacing is what replace_one prices anyway
    return replace(kind, sampling="full", rate=1.0, shift=further * kind.shift)


def _distinct(entries: Sequence[Spent]) -> Iterator[Release]:
    """Each different release once. The same plan on two data sets is two; of one draw, both had the same units."""
    answers = {(one.release, one.draw, one.round, one.receipt) for one in entries if one.release is not None}
    unnamed = {release for release, draw, *_ in answers if not draw}
    by_round = Counter((release, "" if release in unnamed else draw, round) for release, draw, round, _ in answers)
    times: dict[tuple[Release, str], int] = {}
    for (release, draw, _), count in by_round.items():
        times[release, draw] = max(count, times.get((release, draw), 0))
    for (release, _), count in times.items():
        drawn = release if count == 1 else release.model_copy(update={"sampling": "full", "rate": 1.0})
        for _ in range(count):
            yield drawn
