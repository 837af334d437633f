"""Reads of private data that no mechanism protects, as the ledger writes them down."""

from __future__ import annotations

from fedtext.params import Parameters


class Unaccounted(Parameters):
    """A read of private data without a mechanism, whose result the outputs depend on."""

    name: str
    reason: str


class EvaluationOnly(Parameters):
    """A read of held-out private data that feeds nothing back."""

    name: str
    reason: str
