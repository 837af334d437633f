"""Weights of the models (section 4.5), and how many texts of each class each writes next (section 4.3)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from fedtext.generation.allotment import allotment
from fedtext.params.wasp import Wasp

BEST = 0.1  # of a class's texts, by a single release: a model's votes are its share of these
SEEN = 2.0  # standard deviations of noise that the public total of votes must reach for sums to mean something


def importance(
    votes: Float[np.ndarray, " model"], written: Int[np.ndarray, " model"], wasp: Wasp, *, seen: bool
) -> Float[np.ndarray, " model"]:
    """w_k = (D_k's share of the votes) / (D_k's share of the texts), as shares that add up to 1.

    Sums below 0, which noise makes, count as 0. All weights are equal where no vote is above 0, where the votes are not
    to be seen for the noise, and where the parameters say so. A model without texts has no votes.

    Args:
        votes: Near votes of each model's texts, noised.
        written: Texts of each model.
        wasp: Says what weights follow.
        seen: Whether the votes stand out of their noise (`stand_out`).
    """
    heard = np.where(written > 0, np.maximum(votes, 0.0), 0.0)
    if wasp.weighting == "uniform" or not seen or not heard.sum() > 0:
        return np.full(len(votes), 1.0 / len(votes))
    share, size = heard / heard.sum(), written / max(written.sum(), 1)
    weight = np.divide(share, size, out=np.zeros(len(votes)), where=size > 0)  # w_k
    if wasp.weighting == "softmax":
        weight = np.exp(weight - weight.max())
    return np.asarray(weight / weight.sum())


def stand_out(public_total: float, stddev: float) -> bool:
    """Whether all votes together, of which the public number of units says how many there are, are above the noise."""
    return public_total >= SEEN * stddev


def votes_of_best(
    score: Float[np.ndarray, " text"], label: Int[np.ndarray, " text"], model: Int[np.ndarray, " text"], models: int
) -> Float[np.ndarray, " model"]:
    """How many of the best tenth of every class each model wrote; of equal texts the first is the better."""
    found = np.zeros(models)
    for c in np.unique(label):
        own = np.flatnonzero(label == c)
        best = own[np.argsort(-score[own], kind="stable")[: max(1, round(BEST * len(own)))]]
        found += np.bincount(model[best], minlength=models)
    return found


def counts(weight: Float[np.ndarray, " model"], wasp: Wasp, round_number: int) -> Int[np.ndarray, "model class"]:
    """How many texts of each class each model writes in a round: N_k = (N/T) w_k, rounded so that nothing is lost.

    Classes take turns through all models and rounds, so that they differ by one text at most.
    """
    texts, classes = wasp.texts_of_round(round_number), len(wasp.classes)
    own = allotment(texts, np.maximum(weight, wasp.weight_floor).tolist())
    first = wasp.texts_until(round_number - 1)
    turn = (first + np.arange(texts)) % classes
    found = np.zeros((len(weight), classes), dtype=np.int64)
    np.add.at(found, (np.repeat(np.arange(len(weight)), own), turn), 1)
    return found
