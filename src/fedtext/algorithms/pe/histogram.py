"""The vote: every private sample for its nearest candidate, one clipped ballot a unit, one noised sum a round."""

from __future__ import annotations

from functools import partial

import numpy as np
from jaxtyping import Float, Int

from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.params.pe import Pe
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.voting.ballots import nearest_histogram_blocks
from fedtext.voting.tally import UNCLIPPED, Ballot, Candidates, noised_tally


def noised_histogram(
    query: Query,
    samples: PrivateSamples,
    candidate_embeddings: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    evolution: Pe,
    ledger: Ledger,
    key: NoiseKey,
) -> tuple[Float[np.ndarray, " candidate"], Ledger]:
    """DP_NN_HISTOGRAM: the noised sum of the asked units' ballots, and the ledger that paid for it.

    A unit with s samples casts s votes; its ballot is that histogram, scaled down to an L2 norm of at most
    `pe.clip_norm`. So the sum's sensitivity is the clip, whatever a unit holds, and no bound is read
    from the data. With `clip_norm` at a declared largest s no ballot of at most s votes is changed, which is the
    papers' scaling of the noise by 'the maximum number of samples per client', declared instead of looked up.
    """
    candidates = Candidates(candidate_embeddings, candidate_label, np.ones(len(candidate_label), dtype=bool))
    cast = partial(nearest_histogram_blocks, clip_norm=UNCLIPPED)
    ballot = Ballot({"votes": cast}, settings=evolution.model_dump_json())
    tally = noised_tally(query, ballot, candidates, samples, ledger, key)
    return tally.scores["votes"], tally.ledger
