"""The budget of a data set, and the guard that each node's releases pass: only declared nodes, within one budget.

A silo's process keeps its own budget by the same guard (fedtext.silo.handler); there a question stands for a node.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from fedtext.privacy.history import History
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.spending import (
    REMEDY,
    Rules,
    Spent,
    Total,
    budget_of,
    not_yet_made,
    total_epsilon,
    totals,
    validate_total,
    worst_total,
)
from fedtext.system.refusal import RunRefusedError

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class DataSetBudget:
    """The privacy budget of a data set, and the releases that have spent from it.

    Attributes:
        history: The recorded releases.
        public: Whether the corpus is public: its releases are counted, and none is refused.
        total: `privacy.total_epsilon`; None for the budget that the first run declared.
        rules: The identity of privacy units (fedtext.wiring.unit_identity).
        while_recording: What is in force while entries are read and written; a runner that watches its nodes lifts the
            watch.
    """

    history: History
    public: bool
    total: float | None
    rules: Rules
    while_recording: Callable[[], AbstractContextManager[None]] = nullcontext

    def allowed(self, ledger: Ledger) -> float | None:
        """Return the total epsilon that the ledger's clients may spend under its promise; None if there is no limit."""
        return None if self.public else budget_of(ledger, self.history.entries(), self.rules, self.total)

    def validate_plan(self, ledger: Ledger) -> None:
        """Raise TotalExceeded if the ledger's planned releases exceed the budget; it is called before any long work."""
        mine = self.repeatable(self.history.entries(), ledger)
        made = any(entry.release is None for entry in mine)
        self._check(ledger, not_yet_made(mine, ledger, self.rules), ledger.planned_unaccounted and not made)

    def validate_runs_together(self, ledgers: Sequence[Ledger], releases: Sequence[Release]) -> None:
        """Raise TotalExceeded if runs that open `ledgers` in this order exceed the budget with all their releases.

        Where no total is declared, the budget of the first is that of all that promise the same, as it is once the
        first has released.
        """
        *before, last = ledgers
        self._check(last, releases, before=before)

    def repeatable(self, entries: Sequence[Spent], ledger: Ledger) -> list[Spent]:
        """Return the entries that can be repeated byte for byte: made in this data root, or anywhere with a seed.

        Another data root has another noise key.
        """
        return [entry for entry in entries if not entry.elsewhere or ledger.declaration.noise_seed is not None]

    def guard_of(self, node: str, *, releases: bool) -> NodeBudgetGuard:
        """Return the budget guard of one node; it admits releases only if the node is tagged as a release."""
        return NodeBudgetGuard(self, node, releases)

    def _check(
        self,
        ledger: Ledger,
        planned: Sequence[Release],
        unaccounted: bool = False,
        before: Sequence[Ledger] = (),
    ) -> None:
        if not self.public:
            validate_total(
                self.history.entries(),
                ledger,
                self.rules,
                planned,
                allowed=self.total,
                before=before,
                unaccounted=unaccounted,
            )


@dataclass
class NodeBudgetGuard:
    """The budget guard of one node (fedtext.privacy.budget_guard.BudgetGuard).

    `passed` lists its releases in order, and `receipts` what the history knows each by.
    """

    account: DataSetBudget
    node: str
    releases: bool
    passed: list[Release] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)
    again: bool = False
    _ledger: Ledger | None = None
    _own: set[tuple[object, ...]] = field(default_factory=set)  # what this run of the node let out itself

    def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
        """Raise RunRefusedError for a node that is no release, TotalExceeded for a new release beyond the budget."""
        if not self.releases:
            raise RunRefusedError(
                f"node '{self.node}' asks private data for '{release.name}' and is not declared a release: tag it "
                "'release', with a ledger in and out",
                code="not-a-release",
                value=release.name,
            )
        self._ledger = ledger
        with self.account.while_recording():
            self.account.history.validate_people_known()
            if made := self._made(release, draw):
                self._check_confirmed(release, made)
            else:
                self.account._check(ledger, [release])

    def confirm(self, release: Release, round: int, receipt: str, draw: str) -> None:
        """Record the release before it leaves; one that is made of other data counts as another release."""
        assert self._ledger is not None  # admitted before
        with self.account.while_recording():
            entry = self._entry(self._ledger, release, round, receipt).model_copy(update={"draw": draw})
            new = all(one.answer != entry.answer for one in self._entries())
            self.account.history.add(entry, judge=lambda: self._recheck(release, entry))
            self._own.add(entry.answer)
            self.again |= new and any(one.node == self.node and one.answer not in self._own for one in self._entries())
        self.passed.append(release)
        self.receipts.append(receipt)

    def _recheck(self, release: Release, entry: Spent) -> None:
        """Check the budget again under the lock on the history: another run may have released since."""
        assert self._ledger is not None
        made = self._made(release, entry.draw)
        if any(one.key == entry.key for one in self._entries()):  # the very same bytes
            self._check_confirmed(release, [entry])
        elif any(one.answer == entry.answer for one in self._entries()):
            self._check_promise(release, entry)
        elif not made:
            self.account._check(self._ledger, [release])
        elif any(one.round == entry.round for one in made):
            self._check_second(release, entry)

    def log_repeats(self) -> None:
        """Log that the node repeated a release, and the total privacy cost; a running node logs nothing itself."""
        if self.again and self._ledger is not None:
            LOG.warning(
                "%s released private data again, with other parameters or inputs: all releases on record of these "
                "people's text cost epsilon %.4g together",
                self.node,
                total_epsilon(self._entries(), self._ledger, self.account.rules),
            )

    def unaccounted(self, name: str, reason: str, ledger: Ledger) -> None:
        """Record a read without a mechanism; raise TotalExceeded on a private corpus with a finite budget."""
        with self.account.while_recording():
            self.account.history.validate_people_known()
            entry = self._entry(ledger, None, 0, name).model_copy(update={"reason": reason})

            def judge() -> None:
                if entry.key not in {one.key for one in self._entries()}:
                    self.account._check(ledger, [], unaccounted=True)

            self.account.history.add(entry, judge)

    def _check_confirmed(self, release: Release, made: Sequence[Spent]) -> None:
        """Raise RunRefusedError if a charge was cut off half-way, and others have spent what it needs meanwhile."""
        if self.account.public or self.account.history.unconfirmed().isdisjoint(one.key for one in made):
            return
        if (worst := self._overdrawn(release, self._entries())) is not None:
            raise RunRefusedError(
                f"'{release.name}' was charged and not released, and others have released of these people since: to "
                f"release it now would make epsilon {worst.epsilon:.6g}, {_promised_of(worst)}. Nothing was released. "
                f"{REMEDY}",
                code="charge-overtaken",
                value=release.name,
            )

    def _check_promise(self, release: Release, entry: Spent) -> None:
        """Raise RunRefusedError if the very same bytes are to leave under a promise that is broken already."""
        if self.account.public:
            return
        if (worst := self._overdrawn(release, (*self._entries(), entry))) is not None:
            raise RunRefusedError(
                f"'{release.name}' was released before, and under another promise: what these people have released "
                f"costs epsilon {worst.epsilon:.6g}, {_promised_of(worst)}. Nothing was released. Declare what was "
                f"declared then. {REMEDY}",
                code="promise-broken-already",
                value=release.name,
            )

    def _check_second(self, release: Release, entry: Spent) -> None:
        """Raise RunRefusedError if the same plan on other data is beyond the budget.

        It counts as one more release, to which the same clients were sampled.
        """
        if self.account.public:
            return
        if (worst := self._overdrawn(release, (*self._entries(), entry))) is not None:
            raise RunRefusedError(
                f"'{release.name}' was released before, of other data, with other public inputs (a seed, a model, a "
                f"public text) or under another noise key: to release it again would make epsilon {worst.epsilon:.6g}, "
                f"{_promised_of(worst)}. Nothing was released. Put back what was changed. {REMEDY}",
                code="released-of-other-data",
                value=release.name,
            )

    def _overdrawn(self, release: Release, history: Sequence[Spent]) -> Total | None:
        """Return the worst total of a history that one of the release's payers cannot pay; None if all can."""
        assert self._ledger is not None
        found = totals(history, self._ledger, self.account.rules, allowed=self.account.total)
        too_much = [total for total in found if release.costs(total.party) and total.is_overdrawn]
        return worst_total(too_much) if too_much else None

    def _made(self, release: Release, draw: str) -> list[Spent]:
        """Return the recorded releases of the same plan and units that may have had the same sample as this one."""
        assert self._ledger is not None
        entries = self.account.repeatable(self._entries(), self._ledger)
        same = [one for one in entries if one.release == release and one.draw in ("", draw)]
        return [one for one in same if not one.has_other_spans(self.account.rules)]

    def _entries(self) -> tuple[Spent, ...]:
        return self.account.history.entries()

    def _entry(self, ledger: Ledger, release: Release | None, round: int, receipt: str) -> Spent:
        declared = ledger.declaration
        allowed = self.account.allowed(ledger)
        return Spent(
            node=self.node,
            release=release,
            round=round,
            receipt=receipt,
            part=ledger.part,
            split=self.account.rules.split,
            spans=self.account.rules.spans,
            adjacency=declared.adjacency,
            delta=declared.delta,
            budget=declared.epsilon,
            allowed=None if allowed is None or math.isinf(allowed) else allowed,
            partition=ledger.partition,
            budgets=tuple((one.name, one.epsilon) for one in ledger.parties if one.epsilon < declared.epsilon),
        )


def _promised_of(total: Total) -> str:
    return (
        f"counted for {total.promise} as it was promised, and all releases of this data set together may cost "
        f"{total.budget:.6g}"
    )
