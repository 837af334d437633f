"""What a run plans to release, at which noise, and which declarations fit which variant."""

from __future__ import annotations

from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy import plan
from fedtext.privacy.ledger import Ledger

CLIP_NORM = 1.0  # section 3.1: 'We clip this vector to a norm of 1'


def multiplier(popri: Popri, privacy: Privacy, population: int) -> float:
    """Noise multiplier of each release."""
    return plan.planned_multiplier(privacy, population, popri.releases)


def planned_ledger(population: int, popri: Popri, privacy: Privacy) -> Ledger:
    """An empty ledger for `population` units, before any private text is embedded.

    Raises:
        BudgetExceeded: the run's planned releases would overdraw its budget.
        ValueError: the declaration does not fit `popri.variant`, or means nothing for so many units.
    """
    _refuse_other_variant(popri, privacy)
    return plan.planned_ledger(
        privacy,
        population,
        name="popri.mean_features" if popri.single_release else "popri.scores",
        releases=popri.releases,
        first_round=0 if popri.single_release else 1,
        clip_norm=CLIP_NORM,
    )


def _refuse_other_variant(popri: Popri, privacy: Privacy) -> None:
    """Algorithm 1 has clients and no curator; Algorithms 2, 3 and 5 have a curator that holds single records."""
    declared = f"privacy.unit is {privacy.unit} and privacy.aggregation {privacy.aggregation}"
    if popri.variant == "central" and (privacy.unit, privacy.aggregation) != ("record", "trusted"):
        raise ValueError(
            f"popri.variant is central, but {declared}: declare unit record and aggregation trusted, "
            "or set popri.variant to federated"
        )
    if popri.variant == "federated" and privacy.aggregation == "trusted":
        raise ValueError(
            f"popri.variant is federated, but {declared}: no curator holds the clients' text; declare aggregation "
            "secure or local, or set popri.variant to central (with unit record)"
        )
