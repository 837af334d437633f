"""Planned releases of CTCL: the counts of topics and the steps of the training share one budget.

The counts have the noise of a release that has the whole budget, over the root of their share. The training's noise is
the least at which both together keep the budget, by their joint privacy loss distribution.
"""

from __future__ import annotations

import math

from fedtext.federation.mechanism import opened_ledger, planned_release
from fedtext.federation.query import Query
from fedtext.params.ctcl import Ctcl
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.plan import planned_multiplier
from fedtext.privacy.signal import Votes
from fedtext.training import dp_sgd

NAME = "ctcl"


def topics_query(params: Ctcl, privacy: Privacy, population: int) -> Query:
    """Plan the counts of topics."""
    whole = planned_multiplier(privacy, population, 1, non_negative=True)
    return Query(
        name=f"{NAME}.topics",
        round=0,
        dim=params.topics,
        clip_norm=params.topic_clip,
        noise_multiplier=whole / math.sqrt(params.topic_share),
        non_negative=True,
        use=Votes(),
    )


def gradients_query(params: Ctcl, privacy: Privacy, population: int, *, dim: int) -> Query:
    """Plan all steps of the training of `dim` weights, for what the counts leave of the budget.

    Raises:
        ValueError: the expected batch is larger than the population, or the run declares its own sampling.
    """
    beside = (planned_release(topics_query(params, privacy, population), privacy, population).as_sampled(),)
    return dp_sgd.planned_query(
        f"{NAME}.gradients", params.training, privacy, population, dim=dim, group=f"{NAME}.training", beside=beside
    )


def planned_ledger(population: int, params: Ctcl, privacy: Privacy, *, dim: int) -> Ledger:
    """Return an empty ledger for `population` units, before any of them is read.

    Raises:
        BudgetExceeded: the two releases would overdraw the budget.
        ValueError: the declaration is invalid for this population, or a batch is larger than it.
    """
    training = gradients_query(params, privacy, population, dim=dim)
    return opened_ledger([topics_query(params, privacy, population), training], privacy, population)
