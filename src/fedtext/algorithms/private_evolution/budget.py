"""What a run plans to release, at which noise, and which declarations fit which form."""

from __future__ import annotations

import math

from fedtext.params.privacy import Privacy
from fedtext.params.private_evolution import PrivateEvolution
from fedtext.privacy import plan
from fedtext.privacy.ledger import Ledger

RELEASE = "pe.histogram"


def multiplier(evolution: PrivateEvolution, privacy: Privacy, population: int) -> float:
    """Noise multiplier of each round's histogram."""
    return plan.planned_multiplier(privacy, population, evolution.rounds)


def planned_ledger(population: int, evolution: PrivateEvolution, privacy: Privacy) -> Ledger:
    """An empty ledger for `population` units, before any private text is embedded.

    Raises:
        BudgetExceeded: one histogram a round would overdraw the run's budget.
        ValueError: the declaration does not fit `pe.form`, or means nothing for so many units.
    """
    plan.refuse_other_holder(privacy, parameter="pe.form", value=evolution.form, central="aug_pe", federated="pre_text")
    return plan.planned_ledger(
        privacy, population, name=RELEASE, releases=evolution.rounds, clip_norm=evolution.clip_norm
    )


def histogram_stddev(ledger: Ledger) -> float:
    """Standard deviation of the noise in each cell of the last histogram, in votes.

    The ledger prices what may be relied on: one message's noise under `local`, what is left without the missing shares
    under `secure`. The histogram carries more: that of every client, or of every share.
    """
    declaration, release = ledger.declaration, ledger.releases[-1]
    if declaration.aggregation == "local":
        asked = declaration.clients_per_round if declaration.sampling != "full" else None
        return release.noise_stddev * math.sqrt(asked or ledger.population)
    if declaration.aggregation == "secure":
        return release.noise_stddev / math.sqrt(declaration.honest_fraction)
    return release.noise_stddev
