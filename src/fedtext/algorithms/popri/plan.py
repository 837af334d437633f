"""POPri's planned releases with their noise, and the check of the privacy declaration against the variant."""

from __future__ import annotations

from collections.abc import Sequence

from fedtext.algorithms.popri.scoring import scoring_of
from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.query import Query
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy import plan
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.parties import Party

CLIP_NORM = 1.0  # section 3.1: 'We clip this vector to a norm of 1'


def planned_query(popri: Popri, privacy: Privacy, population: int, *, embedding_dim: int, round_number: int) -> Query:
    """Plan the query of a round, or with a scoring by a single release the query of round 0."""
    scoring = scoring_of(popri)
    return Query(
        name=scoring.release,
        round=round_number,
        dim=scoring.upload_floats(popri, embedding_dim),
        clip_norm=CLIP_NORM,
        noise_multiplier=plan.planned_multiplier(
            privacy, population, popri.releases, non_negative=scoring.non_negative
        ),
        non_negative=scoring.non_negative,
        use=scoring.use(popri, embedding_dim),
    )


def planned_ledger(
    population: int, popri: Popri, privacy: Privacy, *, embedding_dim: int, parties: Sequence[Party] = ()
) -> Ledger:
    """Return an empty ledger for `population` units, before any private text is embedded.

    `parties`: all holders of the units, where each is a silo with a budget of its own.

    Raises:
        BudgetExceeded: the run's planned releases would overdraw its budget.
        ValueError: the declaration does not fit `popri.variant`, or is invalid for this population.
    """
    plan.validate_holders(
        privacy, parameter="popri.variant", value=popri.variant, central="central", federated="federated"
    )
    first = scoring_of(popri).first_round
    queries = [
        planned_query(popri, privacy, population, embedding_dim=embedding_dim, round_number=t)
        for t in range(first, first + popri.releases)
    ]
    ledger = opened_ledger(queries, privacy, population, parties=parties)
    return ledger.model_copy(update={"planned_unaccounted": popri.checkpoint == "fid_on_private_validation"})
