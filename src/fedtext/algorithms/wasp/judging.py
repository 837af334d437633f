"""Scores of texts and weights of models: votes with noise, and the state of the next round.

Units score the texts so far by noisy near and far votes, or by one release for all rounds; a baseline uses random
scores. The released scores give the models' weights (section 4.5) and how many texts of each class each model writes
next (section 4.3), by post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from pydantic import Field

from fedtext.algorithms.wasp.plan import clip_norm, record_norm
from fedtext.embedding.nonempty import nonempty_mask
from fedtext.federation.federation import Federation
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples, class_index, label_codes
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import NoisySum
from fedtext.federation.units import Block, digest
from fedtext.generation.apportionment import apportion
from fedtext.params.wasp import Wasp
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.plan import expected_units
from fedtext.seeding import stream
from fedtext.system.missing import nullable
from fedtext.voting.ballots import ballot_total, top_q_blocks
from fedtext.voting.class_means import class_similarity
from fedtext.voting.tally import Ballot, BallotFunction, Candidates, Vote, joint_ballots, noised_tally

BEST = 0.1  # share of a class's texts that count as votes for their model, with a single release
SEEN = 2.0  # standard deviations of noise that the public total of votes must reach for sums to mean something


def importance(
    votes: Float[np.ndarray, " model"], written: Int[np.ndarray, " model"], wasp: Wasp, *, seen: bool
) -> Float[np.ndarray, " model"]:
    """Compute the models' weights w_k = (D_k's share of the votes) / (D_k's share of the texts), with sum 1.

    Negative noisy sums count as 0. All weights are equal where no vote is above 0, where the votes are below their
    noise, and where the parameters say so. A model without texts has no votes.

    Args:
        votes: Noisy near votes of each model's texts.
        written: Number of texts of each model.
        wasp: The rule of the weights.
        seen: Whether the votes exceed their noise (`exceed_noise`).
    """
    heard = np.where(written > 0, np.maximum(votes, 0.0), 0.0)
    if wasp.weighting == "uniform" or not seen or not heard.sum() > 0:
        return np.full(len(votes), 1.0 / len(votes))
    share, size = heard / heard.sum(), written / max(written.sum(), 1)
    weight = np.divide(share, size, out=np.zeros(len(votes)), where=size > 0)  # w_k
    if wasp.weighting == "softmax":
        weight = np.exp(weight - weight.max())
    return np.asarray(weight / weight.sum())


def exceed_noise(public_total: float, stddev: float) -> bool:
    """Return whether the total of votes, known from the public number of units, exceeds the noise."""
    return public_total >= SEEN * stddev


def votes_of_best(
    score: Float[np.ndarray, " text"], label: Int[np.ndarray, " text"], model: Int[np.ndarray, " text"], models: int
) -> Float[np.ndarray, " model"]:
    """Count how many of the best tenth of every class each model wrote; the first of equal texts ranks higher."""
    found = np.zeros(models)
    for c in np.unique(label):
        own = np.flatnonzero(label == c)
        best = own[np.argsort(-score[own], kind="stable")[: max(1, round(BEST * len(own)))]]
        found += np.bincount(model[best], minlength=models)
    return found


def counts(weight: Float[np.ndarray, " model"], wasp: Wasp, round_number: int) -> Int[np.ndarray, "model class"]:
    """Compute how many texts of each class each model writes in a round: N_k = (N/T) w_k, rounded to keep the total.

    Classes take turns through all models and rounds, so that they differ by one text at most.
    """
    texts, classes = wasp.texts_of_round(round_number), len(wasp.classes)
    own = apportion(texts, np.maximum(weight, wasp.weight_floor).tolist())
    first = wasp.texts_until(round_number - 1)
    turn = (first + np.arange(texts)) % classes
    found = np.zeros((len(weight), classes), dtype=np.int64)
    np.add.at(found, (np.repeat(np.arange(len(weight)), own), turn), 1)
    return found


NEAR, FAR = 0, 1  # rows of the scores; the second is there with contrast alone
CELLS = 2**22  # numbers in a block of ballots: 32 MB
Scores = Float[np.ndarray, "part candidate"]  # as `Wasp.parts`


def candidates_of(embeddings: Float[np.ndarray, "candidate dim"], label: Int[np.ndarray, " candidate"]) -> Candidates:
    """Return all texts so far as candidates; an empty one gets no vote."""
    return Candidates(embeddings, label, nonempty_mask(embeddings))


def top_q_ballot(candidates: int, wasp: Wasp) -> Ballot:
    """Return a unit's ballot: near votes and any far votes, in blocks as wide as memory allows."""
    block = max(1, CELLS // max(len(wasp.parts) * candidates, 1))
    cast = partial(top_q_blocks, votes=wasp.votes_per_record, block=block)
    parts: dict[str, BallotFunction] = {part: partial(cast, furthest=part == "far") for part in wasp.parts}
    return Ballot(parts, settings=_ballot_settings(wasp), rule=f"top {wasp.votes_per_record}")


class TopQVotes(Vote):
    """The question of a unit's near votes and any far votes."""

    wasp: Wasp

    @property
    def classes(self) -> tuple[str, ...]:
        """The declared classes."""
        return self.wasp.labels

    @property
    def ballot(self) -> Ballot:
        """How a unit votes."""
        return top_q_ballot(len(self.label), self.wasp)

    @property
    def voted_on(self) -> Bool[np.ndarray, " candidate"]:
        """Mask of the candidates that can get votes."""
        return nonempty_mask(self.embeddings)


class ModelSums(TopQVotes):
    """The question of a unit's near votes for the texts of each model.

    Attributes:
        model: The model that wrote each text, from 0.
        models: How many models there are.
    """

    model: np.ndarray
    models: int = Field(ge=1)

    def blocks(self, held: PrivateSamples) -> Iterator[Block]:
        """Implement Question."""
        near, writer = replace(self.ballot, parts={"near": self.ballot.parts["near"]}), np.eye(self.models)[self.model]
        for block in joint_ballots(held, self.candidates, near):
            yield Block(block.unit, block.rows @ writer)  # exact: votes are multiples of one power of two


def noised_votes(
    query: Query, federation: Federation, candidates: Candidates, wasp: Wasp, ledger: Ledger
) -> tuple[Scores, Ledger]:
    """Release a round's near and far votes (Algorithm 1, lines 7-8); also return the charged ledger."""
    vote = TopQVotes(wasp=wasp, embeddings=candidates.embeddings, label=candidates.label)
    tally = noised_tally(query, vote, federation, ledger)
    return np.stack([tally.scores[part] for part in wasp.parts]), tally.ledger


def noised_model_sums(
    query: Query,
    federation: Federation,
    candidates: Candidates,
    model: Int[np.ndarray, " candidate"],
    wasp: Wasp,
    ledger: Ledger,
) -> NoisySum:
    """Release the near votes of each model, summed by the units themselves, with the charged ledger."""
    question = ModelSums(
        wasp=wasp, embeddings=candidates.embeddings, label=candidates.label, model=model, models=query.dim
    )
    told = digest(candidates.embeddings, candidates.label, model)
    return federation.summed(query.about(f"{told} {question.rule}", question.ballot.settings), question, ledger)


def plain_votes(samples: PrivateSamples, candidates: Candidates, wasp: Wasp) -> Scores:
    """Sum the clipped votes without noise: no mechanism, so the caller must report it to budget guard and ledger."""
    total = np.zeros(len(wasp.parts) * len(candidates.label))
    for block in joint_ballots(samples, candidates, top_q_ballot(len(candidates.label), wasp)):
        total += clip_rows(block.rows, clip_norm(wasp)).sum(axis=0)
    return total.reshape(len(wasp.parts), -1)


def random_scores(candidates: int, round_number: int, wasp: Wasp) -> Scores:
    """Return random scores, as a baseline."""
    return stream(wasp.seed, "random votes", round_number).random((len(wasp.parts), candidates))


def _ballot_settings(wasp: Wasp) -> str:
    """Return the public inputs of units besides the candidates."""
    return repr(("top-q", wasp.votes_per_record, wasp.labels, wasp.clip_norm))


State = dict[str, Any]


def label_index(candidates: pd.DataFrame, wasp: Wasp) -> Int[np.ndarray, " candidate"]:
    """Return the position of each text's class among the declared ones."""
    return class_index(label_codes(nullable(candidates["label"])), wasp.labels)


def model_index(candidates: pd.DataFrame, names: Sequence[str]) -> Int[np.ndarray, " candidate"]:
    """Return the position of each text's model among the sorted names."""
    return np.searchsorted(np.asarray(names), candidates["model"].to_numpy(dtype=str))


def round_counts(state: State, wasp: Wasp) -> dict[str, Int[np.ndarray, " class"]]:
    """Return how many texts of each class each model writes in the round after this state."""
    names = sorted(state["weights"])
    weight = np.array([state["weights"][name] for name in names])
    return dict(zip(names, counts(weight, wasp, state["round"] + 1), strict=True))


def scores_by_means(
    class_means: Float[np.ndarray, "class dim"],
    candidates: pd.DataFrame,
    embeddings: Float[np.ndarray, "candidate dim"],
    wasp: Wasp,
) -> Float[np.ndarray, "part candidate"]:
    """Score texts by the inner product with their class's released direction (near), and its negative (far)."""
    alike = class_similarity(embeddings, label_index(candidates, wasp), class_means)
    return np.stack([alike, -alike])[: len(wasp.parts)]


def weighed_by_votes(
    candidates: pd.DataFrame, scores: Float[np.ndarray, "part candidate"], ledger: Ledger, state: State, wasp: Wasp
) -> State:
    """Weight models by the near votes of their texts, if the total of votes exceeds the noise of the sum."""
    names = sorted(state["weights"])
    votes = np.bincount(model_index(candidates, names), weights=scores[NEAR], minlength=len(names))
    stddev = summed_stddev(ledger) * np.sqrt(len(candidates)) if ledger.releases else 0.0
    return _next_state(candidates, votes, state, wasp, seen=exceed_noise(_public_total(ledger, wasp), stddev))


def weighed_by_sums(
    candidates: pd.DataFrame, model_sums: Float[np.ndarray, " model"], ledger: Ledger, state: State, wasp: Wasp
) -> State:
    """Weight models by their separately released sums."""
    stddev = summed_stddev(ledger) * np.sqrt(len(model_sums))
    return _next_state(candidates, model_sums, state, wasp, seen=exceed_noise(_public_total(ledger, wasp), stddev))


def weighed_by_best(
    candidates: pd.DataFrame, scores: Float[np.ndarray, "part candidate"], state: State, wasp: Wasp
) -> State:
    """Weight models by their share of the best tenth of every class."""
    names, full = sorted(state["weights"]), (candidates["text"] != "").to_numpy()
    label, model = label_index(candidates, wasp), model_index(candidates, names)
    votes = votes_of_best(scores[NEAR][full], label[full], model[full], len(names))
    return _next_state(candidates, votes, state, wasp, seen=True)


def _public_total(ledger: Ledger, wasp: Wasp) -> float:
    """Return the total of near votes if each unit's ballot has its clip norm: no private number."""
    return expected_units(ledger) * ballot_total(wasp.votes_per_record) * clip_norm(wasp) / record_norm(wasp)


def _next_state(
    candidates: pd.DataFrame, votes: Float[np.ndarray, " model"], state: State, wasp: Wasp, *, seen: bool
) -> State:
    """Return the next state: round, weights, and the inputs of the weights for the report."""
    names = sorted(state["weights"])
    full = candidates[candidates["text"] != ""]
    texts = np.bincount(model_index(full, names), minlength=len(names))
    weight = importance(votes, texts, wasp, seen=seen)
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
