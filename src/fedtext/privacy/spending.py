"""The privacy cost of all releases of one data set together, over all runs, algorithms and parameters.

A run's ledger accounts for the run. People, though, are protected by the composition of all releases of their text:
four runs of epsilon 1 are not epsilon 1. So every release is recorded with the data (fedtext.privacy.history) and
accounted here.

Every run makes a promise: a budget, under its adjacency, unit and delta. The privacy cost of all releases together is
computed under each promise that was ever made, and must keep the budget of each. A release without a sound epsilon
under a promise costs infinitely much there. The data set's total is that of the promise whose budget is used up most.

Where several parties hold the data (fedtext.privacy.parties), each has a total of its own: of all releases, over all
runs, that it took part in. The data set's total is that of the party that spent most.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pydantic import Field

from fedtext.params import Parameters
from fedtext.params.privacy import Adjacency, Unit
from fedtext.privacy.accounting import ROUNDING, SampledGaussian, composed_epsilon
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Part, Release
from fedtext.privacy.parties import Participants, Party, distinct_spend_profiles, spend_profiles
from fedtext.system.errors import FedtextError, InputError


class Rules(NamedTuple):
    """The digests of a run's rules for telling units apart: an earlier run may have used other rules.

    Attributes:
        split: Digest of the rules for clients and for the training clients among them.
        spans: Digest of the rules that cut texts into records.
    """

    split: str
    spans: str = ""


class Promise(NamedTuple):
    """The protection that a run declared, without its epsilon: all that the cost of a release depends on beside it.

    Attributes:
        adjacency: How neighbouring data sets differ.
        unit: The unit of privacy in which they differ.
        delta: The delta at which epsilon is computed.
        part: The clients that are protected: training or test clients.
        spans: Digest of the rules that cut texts into records, where the unit is a record.
    """

    adjacency: Adjacency
    unit: Unit
    delta: float
    part: Part
    spans: str = ""

    def __str__(self) -> str:
        return f"a {self.unit} under {self.adjacency} at delta {self.delta:.4g}"


class Spent(Parameters):
    """The entry of one release of private data, or of one read without a mechanism.

    A release of several rounds has an entry for each.

    Attributes:
        node: The Kedro node that made it.
        release: The release as charged; None for a read without a mechanism.
        reason: Why private data were read without a mechanism.
        round: The round of this entry.
        receipt: A keyed digest, equal for equal noisy sums.
        part: The clients whose data were used.
        split: Digest of how clients were told apart: under another split they may be other people.
        adjacency: The run's declared adjacency.
        delta: The run's declared delta.
        budget: The run's declared epsilon.
        allowed: The declared limit of all releases together; None where none was refused, on a public corpus or under
            an infinite total (parameters decide which, `fedtext.privacy.allowance`).
        partition: Digest of how the run's parties divided the units (`Ledger.partition`); empty: it did not tell them
            apart.
        draw: The name of the sample of units: samples of two different names are independent; empty: unknown.
        spans: Digest of how texts were cut into records: under another one, records are others.
        budgets: The budgets of parties, by name, that had less than the run.
        elsewhere: The data root where the entry was made, if it is another than the one being read.
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
    elsewhere: str = Field("", exclude=True)

    @property
    def name(self) -> str:
        """The release's name, or that of the read without a mechanism."""
        return self.release.name if self.release else self.reason

    @property
    def promise(self) -> Promise | None:
        """The run's promise; None for a read without a mechanism, after which no promise holds."""
        if self.release is None:
            return None
        spans = self.spans if self.release.unit == "record" else ""
        return Promise(self.adjacency, self.release.unit, self.delta, self.part, spans)

    @property
    def rules(self) -> Rules:
        """The rules of the run that made the release."""
        return Rules(self.split, self.spans)

    def has_other_spans(self, rules: Rules) -> bool:
        """Return True if the run protected records, and cut texts into records by other rules than these."""
        return self.release is not None and self.release.unit == "record" and self.spans != rules.spans

    @property
    def answer(self) -> tuple[object, ...]:
        """What left: equal for repetitions of one release, whatever they promised."""
        return (self.release, self.reason, self.round, self.receipt, self.part)

    @property
    def key(self) -> tuple[object, ...]:
        """The entry's identity: an answer, and what was promised with it."""
        return (*self.answer, self.promise, self.partition, self.budgets)


class Total(NamedTuple):
    """The privacy cost of all releases under one promise, and for one party where parties are told apart.

    Attributes:
        promise: The promise.
        party: The party's name.
        budget: The largest epsilon that the releases may have.
        epsilon: The epsilon that they have.
        reason: Why epsilon is infinite, if it is.
    """

    promise: Promise
    party: str | None
    budget: float
    epsilon: float
    reason: str = ""

    @property
    def share(self) -> float:
        """The share of the budget that is used up; under an infinite budget, epsilon itself."""
        return self.epsilon / self.budget if math.isfinite(self.budget) else self.epsilon

    @property
    def is_overdrawn(self) -> bool:
        """True if epsilon exceeds the budget."""
        return self.epsilon > self.budget * (1 + ROUNDING)


class TotalExceeded(BudgetExceeded):
    """Raised when a run would overdraw the limit of all releases of the data set, or of one party's."""

    def __init__(self, total: Total, *, spent: float, asked: str, on: str, party: Party | None = None) -> None:
        self.budget, self.spent, self.total = total.budget, spent, total.epsilon
        self.asked = total.epsilon - spent
        self.party = party.name if party else None
        whom = f" {party}" if party else ""
        why = f", because {total.reason}" if total.reason else ""
        FedtextError.__init__(
            self,
            f"all releases of this data set together may cost{whom} epsilon {total.budget:.6g}; {spent:.6g} is spent "
            f"({on}); {asked} would make it {total.epsilon:.6g}, counted for {total.promise} as it was promised{why}. "
            f"Nothing was read. {REMEDY}",
            code="total-exceeded",
            parameter="privacy.total_epsilon",
            value=total.budget,
        )


REMEDY = (
    "Use what was released; or raise privacy.total_epsilon if the people behind the data agree to it. Other people's "
    "data have a budget of their own in a data root of their own; the same people's have this one in every data root"
)


def totals(
    history: Sequence[Spent],
    ledger: Ledger,
    rules: Rules,
    planned: Sequence[Release] = (),
    *,
    allowed: float | None = None,
    before: Sequence[Ledger] = (),
) -> list[Total]:
    """Compute the privacy cost of all releases of the ledger's clients and of `planned`, under every promise to them.

    The promises are those of the history's entries, of `before` and of the ledger. A party's name stands for the same
    units wherever split and partition are the same. Entries of another split or partition may concern any unit, so they
    count for every party.

    Args:
        history: The releases made before.
        ledger: The ledger whose clients are charged.
        rules: How units are told apart now: entries of the other part count where the split was another, for then they
            may be of the same people.
        planned: The releases to be made.
        allowed: The total that is declared for the data set; None: each promise has the budget of its own first run.
        before: Ledgers that are opened before this one.

    Returns:
        One total for every promise and party; the party is None where no parties are told apart.
    """
    mine = [entry for entry in history if _may_concern(entry, ledger, rules)]
    participants = [*_participants(mine, ledger, rules), *(release.parties for release in planned)]
    named = spend_profiles(participants, [party.name for party in ledger.parties])
    paid: dict[str | None, tuple[int, ...]] = dict(named.items()) if named else {None: tuple(range(len(participants)))}
    found = []
    for promise, limits in _promised(mine, [*before, ledger], rules, allowed).items():
        prices = {}
        for profile in set(paid.values()):
            made = [mine[at] for at in profile if at < len(mine)]
            asked = [planned[at - len(mine)] for at in profile if at >= len(mine)]
            prices[profile] = _epsilon_of(made, asked, promise, rules)
        found += [Total(promise, name, limits.of(name), *prices[profile]) for name, profile in paid.items()]
    return found


def worst_total(found: Iterable[Total]) -> Total:
    """Return the total whose budget is used up most, the first of equals."""
    return max(found, key=lambda total: total.share)


def total_epsilon(history: Sequence[Spent], ledger: Ledger, rules: Rules, planned: Sequence[Release] = ()) -> float:
    """Compute epsilon of all releases of the ledger's clients: the worst over promises and parties (`totals`)."""
    return worst_total(totals(history, ledger, rules, planned)).epsilon


def party_totals(
    history: Sequence[Spent], ledger: Ledger, rules: Rules, planned: Sequence[Release] = ()
) -> dict[str | None, float]:
    """Compute `total_epsilon` of each party in the ledger or, of the same partition, in the history.

    The only key is None where there are no parties.
    """
    found = totals(history, ledger, rules, planned)
    names = dict.fromkeys(total.party for total in found)
    return {name: worst_total(total for total in found if total.party == name).epsilon for name in names}


def validate_total(
    history: Sequence[Spent],
    ledger: Ledger,
    rules: Rules,
    planned: Sequence[Release],
    *,
    allowed: float | None = None,
    before: Sequence[Ledger] = (),
    unaccounted: bool = False,
) -> None:
    """Raise if `planned` new releases (or a read without a mechanism) cost more than is left of any promise.

    Args:
        history: The releases made before.
        ledger: The ledger whose clients would be charged.
        rules: How units are told apart now.
        planned: The releases to be made.
        allowed: The total that is declared for the data set; None: each promise has the budget of its own first run.
        before: Ledgers that are opened before this one.
        unaccounted: Whether private data would be read without a mechanism.

    Raises:
        TotalExceeded: with the spent epsilon, the releases, the party, the promise, and the remedy.
    """
    if not planned and not unaccounted:
        return
    found = totals(history, ledger, rules, planned, allowed=allowed, before=before)
    if unaccounted:
        reason = "private data would be read without a mechanism"
        found = [total._replace(epsilon=math.inf, reason=reason) for total in found]
    else:
        found = [total for total in found if any(release.costs(total.party) for release in planned)]
    if not (too_much := [total for total in found if total.is_overdrawn]):
        return
    worst = worst_total(too_much)
    mine = [entry for entry in history if _may_concern(entry, ledger, rules)]
    paid = _spent_by(mine, ledger, rules, worst.party)
    names = ", ".join(dict.fromkeys(f"'{release.name}'" for release in planned))
    raise TotalExceeded(
        worst,
        spent=_epsilon_of(paid, [], worst.promise, rules)[0],
        asked=names or "a read without a mechanism",
        on=", ".join(_on(paid, ledger, rules, worst.promise)) or "nothing",
        party=next((party for party in ledger.parties if party.name == worst.party), None),
    )


def budget_of(ledger: Ledger, history: Sequence[Spent], rules: Rules, allowed: float | None = None) -> float:
    """Return the limit of all releases of the ledger's clients together under the ledger's promise."""
    mine = [entry for entry in history if _may_concern(entry, ledger, rules)]
    return _promised(mine, [ledger], rules, allowed)[_of_ledger(ledger, rules)].whole


def not_yet_made(history: Sequence[Spent], ledger: Ledger, rules: Rules) -> list[Release]:
    """Return the ledger's planned releases without an entry: a resumed or repeated run makes no others."""
    mine = [entry for entry in history if _may_concern(entry, ledger, rules) and not entry.has_other_spans(rules)]
    made = [entry.release for entry in mine if entry.release is not None]
    return [
        plan
        for plan in ledger.planned or ()
        if not any((plan.name, plan.round) == (one.name, one.round) and plan.as_noisy_as(one) for one in made)
    ]


def spent_on(history: Sequence[Spent], ledger: Ledger, rules: Rules, promise: Promise) -> list[str]:
    """Describe in words the releases of the ledger's clients: each name, how many, and their epsilon.

    The epsilon is that of the releases of one name alone, under the promise.
    """
    return _on([entry for entry in history if _may_concern(entry, ledger, rules)], ledger, rules, promise)


def _on(mine: Sequence[Spent], ledger: Ledger, rules: Rules, promise: Promise) -> list[str]:
    words = []
    for name, place in dict.fromkeys((entry.name, entry.elsewhere) for entry in mine):
        own = [entry for entry in mine if (entry.name, entry.elsewhere) == (name, place)]
        paid = distinct_spend_profiles(_participants(own, ledger, rules))
        epsilon = max(_epsilon_of([own[at] for at in profile], [], promise, rules)[0] for profile in paid)
        cut = any(entry.has_other_spans(Rules("", promise.spans)) for entry in own) and promise.unit == "record"
        words.append(
            f"'{name}' x {len(list(_distinct(own)))}{' of records cut in another way' if cut else ''}"
            f"{f' in {place}' if place else ''}: {epsilon:.4g}"
        )
    return words


def counted_entries(history: Sequence[Spent], ledger: Ledger, rules: Rules) -> list[Spent]:
    """Return the entries that `totals` accounts for, one of each answer."""
    return list({entry.answer: entry for entry in history if _may_concern(entry, ledger, rules)}.values())


@dataclass
class _Limits:
    """The limit of all releases under a promise: in all, and parties by name where theirs is less."""

    whole: float
    each: dict[str, float]

    def of(self, party: str | None) -> float:
        return self.whole if party is None else min(self.whole, self.each.get(party, math.inf))

    def lower(self, budgets: Iterable[tuple[str, float]]) -> None:
        for name, budget in budgets:
            self.each[name] = min(budget, self.each.get(name, math.inf))


def _promised(
    mine: Sequence[Spent], ledgers: Sequence[Ledger], rules: Rules, allowed: float | None
) -> dict[Promise, _Limits]:
    """Return every promise with its budget: `allowed` if declared, else that of its first run, and each party's least.

    A later and larger budget does not raise an earlier one.
    """
    found: dict[Promise, _Limits] = {}
    partition = ledgers[-1].partition
    for entry in mine:
        if (promise := entry.promise) is not None:
            limits = found.setdefault(promise, _Limits(entry.budget, {}))
            limits.lower(entry.budgets if (entry.part, entry.partition) == (ledgers[-1].part, partition) else ())
    for ledger in ledgers:
        limits = found.setdefault(_of_ledger(ledger, rules), _Limits(ledger.declaration.epsilon, {}))
        limits.lower((party.name, party.epsilon) for party in ledger.parties if ledger.partition == partition)
    return found if allowed is None else {promise: _Limits(allowed, {}) for promise in found}


def _of_ledger(ledger: Ledger, rules: Rules) -> Promise:
    declared = ledger.declaration
    spans = rules.spans if declared.unit == "record" else ""
    return Promise(declared.adjacency, declared.unit, declared.delta, ledger.part, spans)


def _may_concern(entry: Spent, ledger: Ledger, rules: Rules) -> bool:
    """Return True if the entry may be of people that the ledger protects."""
    return entry.part == ledger.part or entry.split != rules.split


def _participants(mine: Sequence[Spent], ledger: Ledger, rules: Rules) -> list[Participants]:
    """Return the parties that each entry is charged to; None, all, where it may concern any unit."""
    partition = ledger.partition or next((entry.partition for entry in reversed(mine) if entry.partition), "")
    return [
        entry.release.parties if entry.release and (entry.split, entry.partition) == (rules.split, partition) else None
        for entry in mine
    ]


def _spent_by(mine: Sequence[Spent], ledger: Ledger, rules: Rules, party: str | None) -> list[Spent]:
    """Return the entries charged to a party; all entries if the party is None."""
    participants = _participants(mine, ledger, rules)
    return [
        one for one, named in zip(mine, participants, strict=True) if None in (party, named) or party in (named or ())
    ]


def _epsilon_of(made: Sequence[Spent], planned: Sequence[Release], promise: Promise, rules: Rules) -> tuple[float, str]:
    """Compute epsilon of made and planned releases for units that took part in all; return the reason if infinite."""
    for entry in made:
        if (reason := _unbounded(entry.name, entry.release, entry.spans, promise)) is not None:
            return math.inf, reason
    for release in planned:
        if (reason := _unbounded(release.name, release, rules.spans, promise)) is not None:
            return math.inf, reason
    kinds = [_for_unit(release, promise) for release in (*_distinct(made), *planned)]
    try:
        return composed_epsilon(kinds, delta=promise.delta, adjacency=promise.adjacency), ""
    except InputError as error:
        return math.inf, f"the sampled releases have no price there ({error})"


def _unbounded(name: str, release: Release | None, spans: str, promise: Promise) -> str | None:
    """Return why a release's epsilon does not bound the promised unit's privacy loss; None where it does."""
    if release is None:
        return f"private data were read without a mechanism ('{name}')"
    if release.unit == "client":
        return None
    if promise.unit == "client":
        return f"'{name}' protects single records, of which a client holds any number"
    return None if spans == promise.spans else f"'{name}' protects records that are cut in another way"


def _for_unit(release: Release, promise: Promise) -> SampledGaussian:
    """Return the release as the accountant's type for the promised unit.

    Adding or removing a record replaces its client's contribution, sampled or not.
    """
    kind = release.as_sampled()
    if release.unit == promise.unit:
        return kind
    further = 1 if promise.adjacency == "replace_one" else 2  # replace_one covers replacement already
    return replace(kind, sampling="full", rate=1.0, shift=further * kind.shift)


def _distinct(entries: Sequence[Spent]) -> Iterator[Release]:
    """Yield each different release once.

    The same plan on two data sets is two releases. Several releases of one sample had the same units, so sampling does
    not amplify them.
    """
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
