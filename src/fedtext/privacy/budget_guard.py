"""The budget guard: every release mechanism asks it before private data are read, and reports each release to it.

A release mechanism (fedtext.federation) calls `current()`. Without a runner, as in a notebook or a test of the
mechanism, the guard lets all releases pass and the ledger alone decides. The project's runner installs a guard of its
own: it admits nodes that are declared releases, keeps one budget a data set, and records each release
(fedtext.privacy.history).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from fedtext.privacy.ledger import Ledger, Release


@runtime_checkable
class BudgetGuard(Protocol):
    """The interface between release mechanisms and the runner."""

    def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
        """Raise if `release` may not be made on `ledger`; no private value has been read yet.

        `draw` names the sample of its units by all its public inputs: samples of different names are independent.
        """

    def confirm(self, release: Release, round: int, receipt: str, draw: str) -> None:
        """Raise if the computed release may not be returned; otherwise record it.

        `receipt` is equal for equal noisy sums, and reveals nothing else. Two different sums of one plan have two
        receipts: a release that was made of other data is another release.
        """

    def unaccounted(self, name: str, reason: str, ledger: Ledger) -> None:
        """Raise if private data may not be read without a mechanism, by `name`, for `reason`."""


class NoBudgetGuard:
    """A guard that admits every release: the ledger alone decides."""

    def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
        """Admit every release."""

    def confirm(self, release: Release, round: int, receipt: str, draw: str) -> None:
        """Let every release be returned, unrecorded."""

    def unaccounted(self, name: str, reason: str, ledger: Ledger) -> None:
        """Allow every read."""


_guard: ContextVar[BudgetGuard] = ContextVar("gate", default=NoBudgetGuard())  # noqa: B039 - it has no state


def current() -> BudgetGuard:
    """Return the budget guard in force."""
    return _guard.get()


@contextmanager
def guarding(guard: BudgetGuard) -> Iterator[None]:
    """Put `guard` in force for the block."""
    token = _guard.set(guard)
    try:
        yield
    finally:
        _guard.reset(token)
