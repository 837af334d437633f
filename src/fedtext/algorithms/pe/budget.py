"""What a run plans to release, at which noise, and which declarations fit which form."""

from __future__ import annotations

from fedtext.params.pe import Pe
from fedtext.params.privacy import Privacy
from fedtext.privacy import plan
from fedtext.privacy.ledger import Ledger

RELEASE = "pe.histogram"


def multiplier(evolution: Pe, privacy: Privacy, population: int) -> float:
    """Noise multiplier of each round's histogram."""
    return plan.planned_multiplier(privacy, population, evolution.rounds)


def planned_ledger(population: int, evolution: Pe, privacy: Privacy) -> Ledger:
    """An empty ledger for `population` units, before any private text is embedded.

    Raises:
        BudgetExceeded: one histogram a round would overdraw the run's budget.
        ValueError: the declaration does not fit `pe.form`, or means nothing for so many units.
    """
    plan.refuse_other_holder(privacy, parameter="pe.form", value=evolution.form, central="aug_pe", federated="pre_text")
    return plan.planned_ledger(
        privacy, population, name=RELEASE, releases=evolution.rounds, clip_norm=evolution.clip_norm
    )
