"""From released scores to the state of the next round: post-processing of released values alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.algorithms.wasp import models
from fedtext.algorithms.wasp.budget import clip_norm, record_norm
from fedtext.algorithms.wasp.votes import NEAR
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import class_index, label_codes
from fedtext.params.wasp import Wasp
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.plan import expected_units
from fedtext.system.missing import nullable
from fedtext.voting.class_means import likeness
from fedtext.voting.top_q import ballot_total

State = dict[str, Any]


def label_index(candidates: pd.DataFrame, wasp: Wasp) -> Int[np.ndarray, " candidate"]:
    """Position of each text's class among the declared ones."""
    return class_index(label_codes(nullable(candidates["label"])), wasp.labels)


def model_index(candidates: pd.DataFrame, names: Sequence[str]) -> Int[np.ndarray, " candidate"]:
    """Position of each text's model among the sorted names."""
    return np.searchsorted(np.asarray(names), candidates["model"].to_numpy(dtype=str))


def round_counts(state: State, wasp: Wasp) -> dict[str, Int[np.ndarray, " class"]]:
    """How many texts of each class each model writes in the round after this state."""
    names = sorted(state["weights"])
    weight = np.array([state["weights"][name] for name in names])
    return dict(zip(names, models.counts(weight, wasp, state["round"] + 1), strict=True))


def scores_by_means(
    class_means: Float[np.ndarray, "class dim"],
    candidates: pd.DataFrame,
    embeddings: Float[np.ndarray, "candidate dim"],
    wasp: Wasp,
) -> Float[np.ndarray, "part candidate"]:
    """Near: the inner product with the class's released direction; far: the same with the other sign."""
    alike = likeness(embeddings, label_index(candidates, wasp), class_means)
    return np.stack([alike, -alike])[: len(wasp.parts)]


def weighed_by_votes(
    candidates: pd.DataFrame, scores: Float[np.ndarray, "part candidate"], ledger: Ledger, state: State, wasp: Wasp
) -> State:
    """Weights by the near votes of each model's texts, if all votes together stand out of the noise in their sum."""
    names = sorted(state["weights"])
    votes = np.bincount(model_index(candidates, names), weights=scores[NEAR], minlength=len(names))
    stddev = summed_stddev(ledger) * np.sqrt(len(candidates)) if ledger.releases else 0.0
    return _next_state(candidates, votes, state, wasp, seen=models.stand_out(_public_total(ledger, wasp), stddev))


def weighed_by_sums(
    candidates: pd.DataFrame, model_sums: Float[np.ndarray, " model"], ledger: Ledger, state: State, wasp: Wasp
) -> State:
    """Weights by the models' sums that were released by themselves."""
    stddev = summed_stddev(ledger) * np.sqrt(len(model_sums))
    return _next_state(candidates, model_sums, state, wasp, seen=models.stand_out(_public_total(ledger, wasp), stddev))


def weighed_by_best(
    candidates: pd.DataFrame, scores: Float[np.ndarray, "part candidate"], state: State, wasp: Wasp
) -> State:
    """Weights by each model's share of the best tenth of every class."""
    names, full = sorted(state["weights"]), (candidates["text"] != "").to_numpy()
    label, model = label_index(candidates, wasp), model_index(candidates, names)
    votes = models.votes_of_best(scores[NEAR][full], label[full], model[full], len(names))
    return _next_state(candidates, votes, state, wasp, seen=True)


def _public_total(ledger: Ledger, wasp: Wasp) -> float:
    """What the near votes of all units add up to, if each is as large as its clip allows: no private number."""
    return expected_units(ledger) * ballot_total(wasp.votes_per_record) * clip_norm(wasp) / record_norm(wasp)


def _next_state(
    candidates: pd.DataFrame, votes: Float[np.ndarray, " model"], state: State, wasp: Wasp, *, seen: bool
) -> State:
    """The state handed on: round, weights, and for the report what led to them."""
    names = sorted(state["weights"])
    full = candidates[candidates["text"] != ""]
    texts = np.bincount(model_index(full, names), minlength=len(names))
    weight = models.importance(votes, texts, wasp, seen=seen)
    entry = {
        "round": state["round"] + 1,
        "votes": dict(zip(names, votes.tolist(), strict=True)),
        "texts": dict(zip(names, texts.tolist(), strict=True)),
        "seen": bool(seen),
    }
    return {
        **state,
        "round": state["round"] + 1,
        "weights": dict(zip(names, weight.tolist(), strict=True)),
        "history": [*state["history"], entry],
    }
