"""Private Evolution's planned releases with their noise, and the check of the privacy declaration against the form."""

from __future__ import annotations

from collections.abc import Sequence

from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.query import Query
from fedtext.params.pe import Pe
from fedtext.params.privacy import Privacy
from fedtext.privacy import plan
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.parties import Party
from fedtext.privacy.signal import Votes


def planned_query(evolution: Pe, privacy: Privacy, population: int, round_number: int) -> Query:
    """Plan the round's histogram of votes, over as many candidates as the declared population."""
    return Query(
        name="pe.histogram",
        round=round_number,
        dim=evolution.population,
        clip_norm=evolution.clip_norm,
        noise_multiplier=plan.planned_multiplier(privacy, population, evolution.rounds, non_negative=True),
        non_negative=True,
        use=Votes(),
    )


def planned_ledger(population: int, evolution: Pe, privacy: Privacy, *, parties: Sequence[Party] = ()) -> Ledger:
    """Return an empty ledger for `population` units, before any private text is embedded.

    `parties`: all holders of the units, where each is a silo with a budget of its own.

    Raises:
        BudgetExceeded: one histogram per round would overdraw the run's budget.
        ValueError: the declaration does not fit `pe.form`, or is invalid for this population.
    """
    plan.validate_holders(privacy, parameter="pe.form", value=evolution.form, central="aug_pe", federated="pre_text")
    queries = [planned_query(evolution, privacy, population, t) for t in range(1, evolution.rounds + 1)]
    return opened_ledger(queries, privacy, population, parties=parties)
