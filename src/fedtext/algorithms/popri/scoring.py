"""How POPri scores candidates: by ballots in every round, or by one release for all rounds.

A scoring defines what is released, how wide that is, and how it becomes scores. `popri.scoring` selects one by name.

By one release: the clients' mean features, released once with noise, score the candidates of every round.

By ballots: in every round the sampled clients score its candidates, and the sum of their ballots gets noise. Such
scores rank the candidates within a round, but do not measure how good the round is. Histograms sum to the number of
votes and centred ballots to zero. A ballot of many cosines is clipped to norm 1, so that their level cancels and a
round of equal texts scores highest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.embedding.nonempty import nonempty_mask
from fedtext.embedding.words import bucket_features, word_grams
from fedtext.params.popri import Popri
from fedtext.privacy.signal import Use, Vector, Votes
from fedtext.seeding import derived_seed
from fedtext.voting.ballots import client_means, nearest_histogram_blocks, score_blocks
from fedtext.voting.centring import Centre
from fedtext.voting.projection import project_scores
from fedtext.voting.tally import UNCLIPPED
from fedtext.voting.witness import random_features, witness_scores


@dataclass(frozen=True)
class SingleRelease:
    """Scoring by one release, shared by `witness_*` and `mean_embedding`; not in the paper (decisions 2 and 18).

    Attributes:
        words: Whether features have a second part of hashed words, both parts under one norm.
        random: Whether the features phi are random Fourier features of the unit embeddings, or the embeddings.
        witness: Whether a candidate's score is the MMD witness function, which subtracts the mean over the candidates,
            or the plain inner product with the release.
        release: Name of the release.
        first_round: Round of the release: before the first.
        non_negative: Whether no feature is below 0; embeddings and random features have either sign.
    """

    random: bool
    witness: bool
    words: bool = False
    release: ClassVar[str] = "popri.mean_features"
    first_round: ClassVar[int] = 0
    non_negative: ClassVar[bool] = False

    def upload_floats(self, popri: Popri, embedding_dim: int) -> int:
        """Return how many numbers a client sends: mean features; with classes, per class, and one for its size."""
        features = popri.random_features if self.random else embedding_dim
        features += popri.word_buckets if self.words else 0
        return (features + bool(popri.labels)) * len(popri.classes)

    def download_floats(self, popri: Popri, embedding_dim: int) -> int:
        """Return how many numbers a client receives: none, as encoder and feature seed are public and fixed."""
        return 0

    def use(self, popri: Popri, embedding_dim: int) -> Use:
        """Return how the release is used: as a whole."""
        return Vector()

    def seen(
        self, texts: Sequence[str], embeddings: Float[np.ndarray, "text dim"], popri: Popri
    ) -> Float[np.ndarray, "text seen"]:
        """Return the features' inputs: embeddings, and with `words` the texts' grams and how many columns these are.

        That number, in every row's last column, allows rows to be split again: long texts have more grams than short
        ones.
        """
        if not self.words:
            return embeddings
        grams = word_grams(texts, buckets=popri.word_buckets, seed=self.word_seed(popri))
        columns = np.full((len(grams), 1), grams.shape[1])
        joined: np.ndarray = np.concatenate([embeddings, grams, columns], axis=1, dtype=embeddings.dtype)
        return joined

    def features(self, seen: Float[np.ndarray, "text seen"], popri: Popri) -> Float[np.ndarray, "text feature"]:
        """Compute the witness function's phi, of norm at most 1 for embeddings that are unit vectors or zeros.

        Embeddings and words have the shares `1 - popri.word_share` and `popri.word_share` of its squared norm.
        """
        if not self.words:
            return self._of_meaning(seen, popri)
        columns = int(seen[0, -1]) if len(seen) else 0
        embeddings, grams = np.split(seen[:, :-1], [seen.shape[1] - 1 - columns], axis=1)
        meaning = self._of_meaning(embeddings, popri)
        words = bucket_features(grams.astype(np.float32), popri.word_buckets).astype(meaning.dtype)
        share = popri.word_share
        joined: np.ndarray = np.concatenate([np.sqrt(1 - share) * meaning, np.sqrt(share) * words], axis=1)
        return joined

    def word_seed(self, popri: Popri) -> int:
        """Return the public seed of the word hash."""
        return derived_seed(popri.seed, "words")

    def of_words(self, mean: Float[np.ndarray, " feature"], popri: Popri) -> Float[np.ndarray, " bucket"]:
        """Return the word part of mean features, on the scale of `fedtext.embedding.words.bucket_features`."""
        part: np.ndarray = mean[-popri.word_buckets :] / np.sqrt(popri.word_share)
        return part

    def _of_meaning(self, embeddings: Float[np.ndarray, "text dim"], popri: Popri) -> Float[np.ndarray, "text feature"]:
        if not self.random:
            return embeddings
        return random_features(
            embeddings,
            features=popri.random_features,
            bandwidth=popri.bandwidth,
            seed=derived_seed(popri.seed, "random features"),
        )

    def scores(
        self, phi: Float[np.ndarray, "candidate feature"], mean: Float[np.ndarray, " feature"]
    ) -> Float[np.ndarray, " candidate"]:
        """Score one class's candidates by that class's released mean."""
        if self.witness:
            return witness_scores(phi, mean)
        products: np.ndarray = phi @ mean
        return products

    def of_round(
        self,
        seen: Float[np.ndarray, "candidate seen"],
        label: Int[np.ndarray, " candidate"],
        scores: Float[np.ndarray, " candidate"],
        released: Float[np.ndarray, "class feature"],
        popri: Popri,
    ) -> float:
        """Compute the quality of a round's candidates from released values alone; larger is better, across rounds too.

        With the witness it is minus the squared distance between released and candidate mean features (an MMD^2, up to
        the noise's constant), averaged over classes; without it, the mean score of the candidates. No candidate is
        empty.
        """
        if not self.witness:
            return float(scores.mean())
        phi = self.features(seen, popri)
        gaps = [phi[label == c].mean(axis=0) - mean for c, mean in enumerate(released) if (label == c).any()]
        return -float(np.mean([gap @ gap for gap in gaps]))


class EveryRound(ABC):
    """Scoring by one ballot per unit and round, with a number for each of the round's K x J candidates.

    Attributes:
        release: Name of the releases.
        first_round: Round of the first release.
        non_negative: Whether no ballot has a number below 0.
    """

    release: ClassVar[str] = "popri.scores"
    first_round: ClassVar[int] = 1
    non_negative: ClassVar[bool] = False

    def upload_floats(self, popri: Popri, embedding_dim: int) -> int:
        """Return how many numbers a client sends in a round: one per candidate."""
        return popri.prompts * popri.responses

    def download_floats(self, popri: Popri, embedding_dim: int) -> int:
        """Return how many numbers a client receives in a round: the candidates' embeddings."""
        return self.upload_floats(popri, embedding_dim) * embedding_dim

    @abstractmethod
    def use(self, popri: Popri, embedding_dim: int) -> Use:
        """Return how a round's noisy sum is used."""

    @abstractmethod
    def voted_on(self, candidates: Float[np.ndarray, "candidate dim"]) -> Bool[np.ndarray, " candidate"]:
        """Return a mask of the candidates for which ballots may have a nonzero number."""

    @abstractmethod
    def ballots(
        self,
        features: Float[np.ndarray, "sample dim"],
        unit: Int[np.ndarray, " sample"],
        units: int,
        candidates: Float[np.ndarray, "candidate dim"],
        popri: Popri,
    ) -> Iterator[Float[np.ndarray, "unit candidate"]]:
        """Yield unclipped ballots of `units` units on one class's candidates, in blocks of units."""

    def projected(
        self,
        scores: Float[np.ndarray, " candidate"],
        candidates: Float[np.ndarray, "candidate dim"],
        label: Int[np.ndarray, " candidate"],
        popri: Popri,
    ) -> Float[np.ndarray, " candidate"]:
        """Project noisy scores on the span of noiseless ones (post-processing), or return them where there is none."""
        return scores


@dataclass(frozen=True)
class Histogram(EveryRound):
    """`nearest_histogram`: each sample of a unit votes for the nearest non-empty candidate."""

    non_negative: ClassVar[bool] = True

    def use(self, popri: Popri, embedding_dim: int) -> Use:
        """Implement EveryRound."""
        return Votes()

    def voted_on(self, candidates: Float[np.ndarray, "candidate dim"]) -> Bool[np.ndarray, " candidate"]:
        """Implement EveryRound."""
        return nonempty_mask(candidates)

    def ballots(
        self,
        features: Float[np.ndarray, "sample dim"],
        unit: Int[np.ndarray, " sample"],
        units: int,
        candidates: Float[np.ndarray, "candidate dim"],
        popri: Popri,
    ) -> Iterator[Float[np.ndarray, "unit candidate"]]:
        """Implement EveryRound."""
        return nearest_histogram_blocks(features, unit, units, candidates, clip_norm=UNCLIPPED)


@dataclass(frozen=True)
class Cosines(EveryRound):
    """`mean_cosine` and `mean_cosine_centred` (Algorithm 4): a unit's mean cosine with every candidate.

    An empty candidate is placed at the centre of its prompt, where it scores zero.

    Attributes:
        centred: Whether `popri.centre` is subtracted from a ballot before it is clipped.
    """

    centred: bool

    def use(self, popri: Popri, embedding_dim: int) -> Use:
        """Implement EveryRound: what is projected keeps the noise of the embeddings' span alone."""
        return Vector(embedding_dim * len(popri.classes) if popri.projection else None)

    def voted_on(self, candidates: Float[np.ndarray, "candidate dim"]) -> Bool[np.ndarray, " candidate"]:
        """Implement EveryRound."""
        return np.ones(len(candidates), dtype=bool)

    def ballots(
        self,
        features: Float[np.ndarray, "sample dim"],
        unit: Int[np.ndarray, " sample"],
        units: int,
        candidates: Float[np.ndarray, "candidate dim"],
        popri: Popri,
    ) -> Iterator[Float[np.ndarray, "unit candidate"]]:
        """Implement EveryRound."""
        return score_blocks(
            client_means(features, unit, units),
            self._empty_at_centre(candidates, popri),
            centre=self._centre(popri),
            responses_per_prompt=popri.responses,
            clip_norm=UNCLIPPED,
        )

    def projected(
        self,
        scores: Float[np.ndarray, " candidate"],
        candidates: Float[np.ndarray, "candidate dim"],
        label: Int[np.ndarray, " candidate"],
        popri: Popri,
    ) -> Float[np.ndarray, " candidate"]:
        """Project each class's scores on the span of its candidates' embeddings, which removes most of the noise."""
        projected = np.empty_like(scores)
        for c in np.unique(label):
            own = label == c
            rows = self._empty_at_centre(candidates[own], popri)
            projected[own] = project_scores(
                scores[own], rows, centre=self._centre(popri), responses_per_prompt=popri.responses
            )
        return projected

    def _centre(self, popri: Popri) -> Centre:
        return popri.centre if self.centred else "none"

    def _empty_at_centre(
        self, candidates: Float[np.ndarray, "candidate dim"], popri: Popri
    ) -> Float[np.ndarray, "candidate dim"]:
        """Move empty candidates to the mean that centring subtracts: they score zero and shift no mean."""
        centre, full = self._centre(popri), nonempty_mask(candidates)
        if centre == "none" or full.all():
            return candidates
        group = len(candidates) if centre == "all" else popri.responses
        sums = candidates.reshape(-1, group, candidates.shape[1]).sum(axis=1)  # rows of empty texts are zeros
        means = sums / np.maximum(full.reshape(-1, group).sum(axis=1), 1)[:, None]
        return np.where(full[:, None], candidates, np.repeat(means, group, axis=0))


Scoring = SingleRelease | EveryRound

SCORINGS: dict[str, Scoring] = {
    "mean_cosine": Cosines(centred=False),
    "mean_cosine_centred": Cosines(centred=True),
    "nearest_histogram": Histogram(),
    "mean_embedding": SingleRelease(random=False, witness=False),
    "witness_linear": SingleRelease(random=False, witness=True),
    "witness_rff": SingleRelease(random=True, witness=True),
    "witness_words": SingleRelease(random=True, witness=True, words=True),
}


def scoring_of(popri: Popri) -> Scoring:
    """Return the scoring that `popri.scoring` names."""
    return SCORINGS[popri.scoring]


def single_release(popri: Popri) -> SingleRelease:
    """Return the scoring for graphs with one release for all rounds (pipelines.popri)."""
    scoring = scoring_of(popri)
    assert isinstance(scoring, SingleRelease)
    return scoring


def every_round(popri: Popri) -> EveryRound:
    """Return the scoring for graphs with ballots in every round (pipelines.popri)."""
    scoring = scoring_of(popri)
    assert isinstance(scoring, EveryRound)
    return scoring
