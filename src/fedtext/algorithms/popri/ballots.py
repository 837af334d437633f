"""A release every round: the asked units score the round's candidates, and the sum of their ballots is noised."""

from __future__ import annotations

from functools import partial

import numpy as np
from jaxtyping import Float, Int

from fedtext.algorithms.popri.scoring.by_name import every_round
from fedtext.embedding.blanks import written
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.params.popri import Popri
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.voting.tally import Ballot, Candidates, noised_tally


def score_by_ballots(
    query: Query,
    samples: PrivateSamples,
    candidate_embeddings: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    popri: Popri,
    ledger: Ledger,
    key: NoiseKey,
) -> tuple[Float[np.ndarray, " candidate"], Ledger]:
    """Algorithm 1 lines 15-20: the asked units score this round's candidates; one noised sum of clipped ballots.

    `query` is the round's (`planned_query`). Candidates are in prompt order, `popri.responses` successive ones a
    prompt. An empty one (a row of zeros) is not voted on, takes no part of a ballot's clip norm, and scores zero.
    """
    scoring = every_round(popri)
    candidates = Candidates(candidate_embeddings, candidate_label, scoring.voted_on(candidate_embeddings))
    ballot = Ballot({"score": partial(scoring.ballots, popri=popri)}, settings=popri.model_dump_json())
    tally = noised_tally(query, ballot, candidates, samples, ledger, key)
    scores = tally.scores["score"]
    if popri.projection:
        scores = scoring.projected(scores, candidate_embeddings, candidate_label, popri)
    return np.where(written(candidate_embeddings), scores, 0.0), tally.ledger
