"""The gate in front of every door: who runs a release is asked before private data are read, and told what left.

A door (fedtext.federation) calls `current()`. Without a runner, as in a notebook or a test of the mechanism, the gate
stands open and the ledger alone decides. The project's runner puts a gate of its own there: it opens for nodes that
are declared releases, keeps one budget a data set, and writes down what passed (fedtext.privacy.history).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from fedtext.privacy.ledger import Ledger, Release


@runtime_checkable
class BudgetGuard(Protocol):
    """What a door asks."""

    def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
        """Raise if `release` may not be made on `ledger`; nothing private has been read yet.

        `draw` names the draw of its units, by all that is public of it: what has another name was drawn anew.
        """

    def confirm(self, release: Release, round: int, receipt: str, draw: str) -> None:
        """Raise if what is about to leave may not; `receipt` is the same for the same release, and says nothing else.

        Two different sums of one plan have two receipts: a release that was made of other data is another release.
        """

    def unaccounted(self, name: str, reason: str, ledger: Ledger) -> None:
        """Raise if private data may not be read without a mechanism, by `name`, for `reason`."""


class NoBudgetGuard:
    """Lets everything pass: the ledger alone decides."""

    def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
        """Always."""

    def confirm(self, release: Release, round: int, receipt: str, draw: str) -> None:
        """Always."""

    def unaccounted(self, name: str, reason: str, ledger: Ledger) -> None:
        """Always."""


_gate: ContextVar[BudgetGuard] = ContextVar("gate", default=NoBudgetGuard())  # noqa: B039 - it has no state


def current() -> BudgetGuard:
    """The gate that stands before the doors now."""
    return _gate.get()


@contextmanager
def guarding(gate: BudgetGuard) -> Iterator[None]:
    """Puts `gate` before the doors."""
    token = _gate.set(gate)
    try:
        yield
    finally:
        _gate.reset(token)
