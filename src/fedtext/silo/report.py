"""One page for the person at a silo: what was asked, what was answered, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedtext.privacy.spending import Spent, total_epsilon
from fedtext.silo.audit_log import Entry, entries
from fedtext.silo.handler import budget_of, ledger_of
from fedtext.silo.settings import Silo

HEAD = "| when (UTC) | question | round | numbers | epsilon alone | reply |\n|---|---|---:|---:|---:|---|\n"


def page(silo: Silo, folder: Path) -> str:
    """Return the page; the table is not read for it."""
    own, noted = silo.protection, entries(folder)
    budget = budget_of(silo, folder)
    history = budget.history.entries()
    spent = total_epsilon(history, ledger_of(silo), budget.rules) if history else 0.0
    answered = [one for one in noted if one.outcome in ("answered", "repeated")]
    return (
        f"# Silo {silo.name}\n\n"
        f"{spent:.4g} of epsilon {own.epsilon:.4g} is spent, at delta {own.delta:.4g}: it protects each of "
        f"{own.population:,} {own.unit}s, with all that the table holds of it.\n"
        f"{_elsewhere(history)}"
        f"Questions: {len(noted)}, answered: {len(answered)}. What left each time are sums of whole numbers with this "
        "silo's own noise in them, or its part of a secure sum, which looks like chance; and no text.\n\n"
        + (HEAD + "".join(map(_row, noted)) if noted else "")
    )


def _elsewhere(history: Sequence[Spent]) -> str:
    """Return which of the releases another folder made: else the page would not say what spent the budget."""
    others = [one.elsewhere for one in history if one.elsewhere]
    if not others:
        return ""
    return (
        f"{len(others)} of its {len(history)} releases were made of some of the same people's text in other folders of "
        f"this user: {', '.join(dict.fromkeys(others))}.\n"
    )


def _row(entry: Entry) -> str:
    price = "" if entry.epsilon is None else f"{entry.epsilon:.3g}"
    reply = f"{entry.outcome}: {entry.sentence}" if entry.sentence else entry.outcome
    if entry.outcome == "repeated":
        reply = "the same as before, at no cost"
    if entry.silos:
        reply += f" (a secure sum of {entry.silos} silos)"
    words = [entry.when, entry.name or "unreadable", str(entry.round), f"{entry.numbers:,}", price, reply]
    return "| " + " | ".join(word.replace("|", "/").replace("\n", " ") for word in words) + " |\n"
