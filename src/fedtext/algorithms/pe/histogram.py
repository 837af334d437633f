"""The nearest-neighbours histogram: how private samples vote, and which candidates survive.

- The vote: every private sample for its nearest candidate, one clipped ballot a unit, one noised sum a round.
- From a noised histogram to the candidates that survive: post-processing of released values alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.params.pe import Pe
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import stream
from fedtext.system.errors import InputError
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


def select_survivors(
    candidates: pd.DataFrame,
    histogram: Float[np.ndarray, " candidate"],
    noise_stddev: float,
    evolution: Pe,
    round_number: int,
) -> pd.DataFrame:
    """This round's survivors, class by class, each with its `votes` (noised), in candidate order.

    `probability` draws with replacement in proportion to the votes above the threshold, `rank` takes the candidates
    with the most votes, the first of equals. Where no vote of a class exceeds the threshold, nothing is known of it,
    and every candidate is equally likely.

    Returns:
        Columns `text`, `label`, `votes`.

    Raises:
        ValueError: a class has no candidate, or a vote is NaN or infinite.
    """
    if not np.isfinite(histogram).all():
        raise InputError(f"the histogram of round {round_number} holds NaN or infinite votes: check the embeddings")
    rng = stream(evolution.seed, "survivors", round_number)
    classes = evolution.classes
    kept = []
    for c, label in enumerate(classes):
        own = _rows_of(candidates, label)
        if not len(own):
            raise InputError(
                f"no candidate {'of class ' + label if label else 'at all'} is written in round {round_number}: "
                "raise pe.population, or look at what the generator writes"
            )
        count = evolution.survivors // len(classes) + (c < evolution.survivors % len(classes))
        kept.append(own[_chosen(histogram[own], evolution.threshold * noise_stddev, count, evolution.selection, rng)])
    rows = np.concatenate(kept)
    table = candidates.iloc[rows][["text", "label"]].reset_index(drop=True)
    return table.assign(votes=histogram[rows])


def weights(votes: Float[np.ndarray, " candidate"], threshold: float) -> Float[np.ndarray, " candidate"]:
    """What is left of the votes above the threshold H, as shares of one; equal shares if nothing is."""
    above = np.maximum(votes - threshold, 0.0)
    total = above.sum()
    return np.asarray(above / total) if total > 0 else np.full(len(votes), 1.0 / len(votes))


def next_state(
    state: dict[str, Any],
    candidates: pd.DataFrame,
    histogram: Float[np.ndarray, " candidate"],
    noise_stddev: float,
    survivors: pd.DataFrame,
    evolution: Pe,
) -> dict[str, Any]:
    """State after a round: its number, and figures made of released values.

    Rounds have no released score: the votes of a histogram always add up to what the units cast, however good the
    candidates are, so they rank candidates within a round and say nothing between rounds.
    """
    return {
        "round": state["round"] + 1,
        "stopped": False,
        "released_scores": [*state["released_scores"], None],
        "candidates": len(candidates),
        "distinct_candidates": int(candidates["text"].nunique()),
        "share_above_threshold": float((histogram > evolution.threshold * noise_stddev).mean()),
        "distinct_survivors": int(survivors["text"].nunique()),
    }


def _rows_of(candidates: pd.DataFrame, label: str | None) -> Int[np.ndarray, " own"]:
    if label is None:
        return np.arange(len(candidates))
    return np.flatnonzero((candidates["label"] == label).to_numpy())


def _chosen(
    votes: Float[np.ndarray, " candidate"], threshold: float, count: int, selection: str, rng: np.random.Generator
) -> Int[np.ndarray, " survivor"]:
    if selection == "rank":
        return np.sort(np.argsort(-votes, kind="stable")[:count])
    return np.sort(rng.choice(len(votes), size=count, p=weights(votes, threshold)))
