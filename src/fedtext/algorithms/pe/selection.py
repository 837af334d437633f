"""From a noised histogram to the candidates that survive: post-processing of released values alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.params.pe import Pe
from fedtext.seeding import stream
from fedtext.system.errors import InputError


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
