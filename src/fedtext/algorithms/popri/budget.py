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
    plan.refuse_other_holder(
        privacy, parameter="popri.variant", value=popri.variant, central="central", federated="federated"
    )
    ledger = plan.planned_ledger(
        privacy,
        population,
        name="popri.mean_features" if popri.single_release else "popri.scores",
        releases=popri.releases,
        first_round=0 if popri.single_release else 1,
        clip_norm=CLIP_NORM,
    )
    return ledger.model_copy(update={"planned_unaccounted": popri.checkpoint == "fid_on_private_validation"})
