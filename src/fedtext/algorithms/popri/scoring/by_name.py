"""The scorings by the names that `popri.scoring` gives them."""

from __future__ import annotations

from fedtext.algorithms.popri.scoring.every_round import Cosines, EveryRound, Histogram
from fedtext.algorithms.popri.scoring.single_release import SingleRelease
from fedtext.params.popri import Popri

Scoring = SingleRelease | EveryRound

SCORINGS: dict[str, Scoring] = {
    "mean_cosine": Cosines(centred=False),
    "mean_cosine_centred": Cosines(centred=True),
    "nearest_histogram": Histogram(),
    "mean_embedding": SingleRelease(random=False, witness=False),
    "witness_linear": SingleRelease(random=False, witness=True),
    "witness_rff": SingleRelease(random=True, witness=True),
    "witness_words": SingleRelease(random=True, witness=True, words=True),
}


def scoring_of(popri: Popri) -> Scoring:
    """The scoring that the run asks for."""
    return SCORINGS[popri.scoring]


def single_release(popri: Popri) -> SingleRelease:
    """The same where one release serves every round; the graph has no other node that asks (pipelines.popri)."""
    scoring = scoring_of(popri)
    assert isinstance(scoring, SingleRelease)
    return scoring


def every_round(popri: Popri) -> EveryRound:
    """The same where every round has its ballots; the graph has no other node that asks (pipelines.popri)."""
    scoring = scoring_of(popri)
    assert isinstance(scoring, EveryRound)
    return scoring
