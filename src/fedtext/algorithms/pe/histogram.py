"""The nearest-neighbour histogram: the votes of private samples, and the candidates that survive.

Every private sample votes for its nearest candidate. A unit sends one clipped ballot, and a round releases one noisy
sum. The selection of survivors is post-processing of released values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.federation.federation import Federation
from fedtext.federation.query import Query
from fedtext.params.pe import Pe
from fedtext.privacy.ledger import Ledger
from fedtext.seeding import stream
from fedtext.system.errors import InputError
from fedtext.voting.tally import Ballot, Vote, nearest_ballot, noised_tally


class NearestHistogram(Vote):
    """The question of a unit's histogram: for how many of its samples each candidate is among the `pe.nearest`."""

    pe: Pe

    @property
    def classes(self) -> tuple[str, ...]:
        """The declared classes."""
        return self.pe.labels

    @property
    def ballot(self) -> Ballot:
        """How a unit votes: each of its samples for the nearest candidate, or equally for the nearest few."""
        return nearest_ballot("votes", self.pe.nearest, self.pe.model_dump_json())


def noised_histogram(
    query: Query,
    federation: Federation,
    candidate_embeddings: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    evolution: Pe,
    ledger: Ledger,
) -> tuple[Float[np.ndarray, " candidate"], Ledger]:
    """Release the noisy sum of the sampled units' ballots (DP_NN_HISTOGRAM).

    A unit with s samples casts s votes; its ballot is that histogram, scaled down to an L2 norm of at most
    `pe.clip_norm`. So the sum's sensitivity is the clip norm, whatever a unit holds, and no bound is read from the
    data. With `clip_norm` at a declared largest s no ballot of at most s votes is changed. The papers scale the noise
    by 'the maximum number of samples per client'; here that number is declared instead of read from the data.

    Returns:
        The noisy votes of each candidate, and the charged ledger.
    """
    vote = NearestHistogram(pe=evolution, embeddings=candidate_embeddings, label=candidate_label)
    tally = noised_tally(query, vote, federation, ledger)
    return tally.scores["votes"], tally.ledger


def select_survivors(
    candidates: pd.DataFrame,
    histogram: Float[np.ndarray, " candidate"],
    noise_stddev: float,
    evolution: Pe,
    round_number: int,
) -> pd.DataFrame:
    """Select this round's survivors, class by class, with their noisy `votes`, in candidate order.

    `probability` samples with replacement in proportion to the votes above the threshold; `rank` takes the candidates
    with the most votes, the first of equals. Where no vote of a class exceeds the threshold, every candidate is equally
    likely.

    Returns:
        Columns `text`, `label`, `votes`.

    Raises:
        ValueError: a class has no candidate, or a vote is NaN or infinite.
    """
    if not np.isfinite(histogram).all():
        raise InputError(
            f"the histogram of round {round_number} holds NaN or infinite votes: check the embeddings",
            code="votes-not-finite",
        )
    rng = stream(evolution.seed, "survivors", round_number)
    classes = evolution.classes
    kept = []
    for c, label in enumerate(classes):
        own = _rows_of(candidates, label)
        if not len(own):
            raise InputError(
                f"no candidate {'of class ' + label if label else 'at all'} is written in round {round_number}: "
                "raise pe.population, or look at what the generator writes",
                code="no-candidate",
            )
        count = evolution.survivors // len(classes) + (c < evolution.survivors % len(classes))
        kept.append(own[_chosen(histogram[own], evolution.threshold * noise_stddev, count, evolution.selection, rng)])
    rows = np.concatenate(kept)
    table = candidates.iloc[rows][["text", "label"]].reset_index(drop=True)
    return table.assign(votes=histogram[rows])


def weights(votes: Float[np.ndarray, " candidate"], threshold: float) -> Float[np.ndarray, " candidate"]:
    """Return each candidate's share of the votes above the threshold H; equal shares if there are none."""
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
    """Return the state after a round: its number, and statistics of released values.

    Rounds have no released score: a histogram's votes always sum to the number of votes cast, however good the
    candidates are, so they rank candidates within a round and do not compare rounds.
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
