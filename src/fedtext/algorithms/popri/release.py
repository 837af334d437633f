"""POPri's releases: the mean features once for all rounds, or one noisy sum of ballots per round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.algorithms.popri.scoring import every_round, single_release
from fedtext.embedding.nonempty import nonempty_mask
from fedtext.federation.federation import Federation
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.question import Question
from fedtext.federation.units import Block
from fedtext.params.popri import Popri
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.plan import expected_units
from fedtext.voting.ballots import client_mean_blocks
from fedtext.voting.tally import Ballot, Vote, noised_tally


class MeanFeatures(Question):
    """The question of a unit's mean features, class by class."""

    popri: Popri

    @property
    def classes(self) -> tuple[str, ...]:
        """The declared classes."""
        return self.popri.labels

    def seen(
        self, texts: Sequence[str], embeddings: Float[np.ndarray, "sample dim"]
    ) -> Float[np.ndarray, "sample seen"]:
        """Implement Question."""
        return single_release(self.popri).seen(texts, embeddings, self.popri)

    def blocks(self, held: PrivateSamples) -> Iterator[Block]:
        """Implement Question."""
        return sent_blocks(held, self.popri)


class CandidateScores(Vote):
    """The question of a unit's ballot on a round's candidates."""

    popri: Popri

    @property
    def classes(self) -> tuple[str, ...]:
        """The declared classes."""
        return self.popri.labels

    @property
    def ballot(self) -> Ballot:
        """How a unit votes: by the scoring that is declared."""
        cast = partial(every_round(self.popri).ballots, popri=self.popri)
        rule = repr((self.popri.scoring, self.popri.centre, self.popri.responses))
        return Ballot({"score": cast}, settings=self.popri.model_dump_json(), rule=rule)

    @property
    def voted_on(self) -> Bool[np.ndarray, " candidate"]:
        """Mask of the candidates that can get votes."""
        return every_round(self.popri).voted_on(self.embeddings)


def release_private_mean(
    query: Query, federation: Federation, popri: Popri, ledger: Ledger
) -> tuple[Float[np.ndarray, "class feature"], Ledger]:
    """Release each class's mean features once, with noise, for all rounds.

    A unit sends the mean of phi over its samples, each sample in the block of its class (norm <= 1 by convexity), so
    the joint vector over classes has sensitivity 1. With declared classes phi has one constant coordinate (and is
    scaled by 1/sqrt 2): its released sum estimates the class size, which is never read exactly. Without classes the sum
    is divided by the public expected number of units.

    Returns:
        The noisy mean features of each class, and the charged ledger.
    """
    asked = replace(query, public_digest=_feature_settings(popri), draw=(popri.model_dump_json(), ""))
    total, charged = federation.summed(asked, MeanFeatures(popri=popri), ledger)
    sums = total.reshape(len(popri.classes), -1)
    if not popri.labels:
        return sums / expected_units(ledger), charged
    floor = summed_stddev(charged)  # a class size below the noise level is replaced by it
    return sums[:, :-1] / np.maximum(sums[:, -1:], floor), charged


def _feature_settings(popri: Popri) -> str:
    """Return the feature map's parameters, and no others: they identify rounding randomness and noise."""
    of_words = (popri.word_buckets, popri.word_share) if single_release(popri).words else ()
    return repr((popri.scoring, popri.random_features, popri.bandwidth, popri.seed, tuple(popri.labels), *of_words))


def _sent_features(seen: Float[np.ndarray, "sample seen"], popri: Popri) -> Float[np.ndarray, "sample sent"]:
    phi = single_release(popri).features(seen, popri)
    if not popri.labels:
        return phi
    joined: np.ndarray = np.concatenate([phi, np.ones((len(phi), 1))], axis=1) / np.sqrt(2)
    return joined


def sent_blocks(held: PrivateSamples, popri: Popri, block: int = 256) -> Iterator[Block]:
    """Yield what each unit that holds samples contributes to the sum."""
    present = np.unique(held.unit)
    means = client_mean_blocks(
        held.features,
        np.searchsorted(present, held.unit),
        len(present),
        features=partial(_sent_features, popri=popri),
        label=held.label,
        classes=len(popri.classes),
        block=block,
    )
    for number, rows in enumerate(means):
        yield Block(present[number * block : number * block + len(rows)], rows)


def score_by_ballots(
    query: Query,
    federation: Federation,
    candidate_embeddings: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    popri: Popri,
    ledger: Ledger,
) -> tuple[Float[np.ndarray, " candidate"], Ledger]:
    """Score this round's candidates by one noisy sum of the sampled units' clipped ballots (Algorithm 1, lines 15-20).

    `query` is the round's (`planned_query`). Candidates are in prompt order, with `popri.responses` successive ones per
    prompt. An empty candidate (a row of zeros) gets no vote, uses no part of a ballot's clip norm, and scores zero.

    Returns:
        A score for each candidate, and the charged ledger.
    """
    scoring = every_round(popri)
    vote = CandidateScores(popri=popri, embeddings=candidate_embeddings, label=candidate_label)
    tally = noised_tally(query, vote, federation, ledger)
    scores = tally.scores["score"]
    if popri.projection:
        scores = scoring.projected(scores, candidate_embeddings, candidate_label, popri)
    return np.where(nonempty_mask(candidate_embeddings), scores, 0.0), tally.ledger
