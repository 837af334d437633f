"""A release every round: the asked units score the round's candidates, and the sum of their ballots is noised."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.embedding.blanks import written
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.params.popri import Popri
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.voting.ballots import client_means, nearest_histogram_blocks, score_blocks
from fedtext.voting.centring import Centre
from fedtext.voting.projection import project_scores
from fedtext.voting.tally import UNCLIPPED, Ballot, Candidates, noised_tally


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
    candidates = Candidates(candidate_embeddings, candidate_label, _voted_on(candidate_embeddings, popri))
    ballot = Ballot({"score": partial(_class_ballots, popri=popri)}, settings=popri.model_dump_json())
    tally = noised_tally(query, ballot, candidates, samples, ledger, key)
    scores = tally.scores["score"]
    if popri.projection:
        scores = _projected(scores, candidate_embeddings, candidate_label, popri)
    return np.where(written(candidate_embeddings), scores, 0.0), tally.ledger


def _centre(popri: Popri) -> Centre:
    """What is taken from a ballot before it is clipped: nothing in Algorithm 4, `popri.centre` in the centred mode."""
    return popri.centre if popri.scoring == "mean_cosine_centred" else "none"


def _projected(
    scores: Float[np.ndarray, " candidate"],
    candidates: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    popri: Popri,
) -> Float[np.ndarray, " candidate"]:
    """Noisy scores on the span that noiseless ones have, class by class: free of charge, and most of the noise gone."""
    projected = np.empty_like(scores)
    for c in np.unique(candidate_label):
        own = candidate_label == c
        rows = _blanks_at_the_centre(candidates[own], popri)
        projected[own] = project_scores(scores[own], rows, centre=_centre(popri), responses_per_prompt=popri.responses)
    return projected


def _voted_on(candidates: Float[np.ndarray, "candidate dim"], popri: Popri) -> Bool[np.ndarray, " candidate"]:
    """Histograms pass empty candidates over; cosines see them at the centre of their prompt, where they score zero."""
    return written(candidates) if popri.scoring == "nearest_histogram" else np.ones(len(candidates), dtype=bool)


def _class_ballots(
    features: Float[np.ndarray, "sample dim"],
    unit: Int[np.ndarray, " sample"],
    units: int,
    candidates: Float[np.ndarray, "candidate dim"],
    popri: Popri,
) -> Iterator[Float[np.ndarray, "unit candidate"]]:
    if popri.scoring == "nearest_histogram":
        return nearest_histogram_blocks(features, unit, units, candidates, clip_norm=UNCLIPPED)
    return score_blocks(
        client_means(features, unit, units),
        _blanks_at_the_centre(candidates, popri),
        centre=_centre(popri),
        responses_per_prompt=popri.responses,
        clip_norm=UNCLIPPED,
    )


def _blanks_at_the_centre(
    candidates: Float[np.ndarray, "candidate dim"], popri: Popri
) -> Float[np.ndarray, "candidate dim"]:
    """Candidates, the empty ones moved to the mean that centring subtracts: they score zero and move no mean."""
    centre, full = _centre(popri), written(candidates)
    if centre == "none" or full.all():
        return candidates
    group = len(candidates) if centre == "all" else popri.responses
    sums = candidates.reshape(-1, group, candidates.shape[1]).sum(axis=1)  # the rows of empty texts are zeros
    means = sums / np.maximum(full.reshape(-1, group).sum(axis=1), 1)[:, None]
    return np.where(full[:, None], candidates, np.repeat(means, group, axis=0))
