"""How POPri scores candidates: by ballots in every round, or by one release for all rounds.

- How candidates get their scores: what a scoring releases, how wide that is, and what it makes of it.
- Scorings by one release: the clients' mean features, noised once, score the candidates of every round.
- The scorings by the names that `popri.scoring` gives them.

Scorings by ballots: every round the asked clients score its candidates, and the sum of their ballots is noised.

Such scores say what is best within a round, but not how good the round is: histograms sum to the number of votes,
centred ballots to zero, and a ballot of many cosines is clipped to norm 1, so that their level cancels and a round of
equal texts scores highest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.embedding.nonempty import written
from fedtext.embedding.words import bucket_features, word_grams
from fedtext.params.popri import Popri
from fedtext.seeding import derived_seed
from fedtext.voting.ballots import client_means, nearest_histogram_blocks, score_blocks
from fedtext.voting.centring import Centre
from fedtext.voting.projection import project_scores
from fedtext.voting.tally import UNCLIPPED
from fedtext.voting.witness import random_features, witness_scores


@dataclass(frozen=True)
class SingleRelease:
    """What the `witness_*` and `mean_embedding` share; not in the paper (decisions 2 and 18).

    Attributes:
        words: Whether hashed words stand beside these features, two parts under one norm.
        random: Whether the features phi are random Fourier features of the unit embeddings, or the embeddings.
        witness: Whether a candidate's score is the witness function's, which takes the mean over the candidates off,
            or the plain inner product with the release.
        release: The release's name.
        first_round: The round that the release is made in: before the first.
        non_negative: Whether no feature is below 0: embeddings' and random features' are of either sign.
    """

    random: bool
    witness: bool
    words: bool = False
    release: ClassVar[str] = "popri.mean_features"
    first_round: ClassVar[int] = 0
    non_negative: ClassVar[bool] = False

    def width(self, popri: Popri, embedding_dim: int) -> int:
        """Numbers that a client sends: its mean features; with classes a block each, and one for the class's size."""
        features = popri.random_features if self.random else embedding_dim
        features += popri.word_buckets if self.words else 0
        return (features + bool(popri.labels)) * len(popri.classes)

    def told(self, popri: Popri, embedding_dim: int) -> int:
        """Numbers that a client is sent: none, for encoder and feature seed are public and ahead of the run."""
        return 0

    def seen(
        self, texts: Sequence[str], embeddings: Float[np.ndarray, "text dim"], popri: Popri
    ) -> Float[np.ndarray, "text seen"]:
        """What features are made of: the embeddings, with words the texts' grams beside them, and how many columns.

        That number, in every row's last place, lets rows be told apart again: long texts have more grams than short.
        """
        if not self.words:
            return embeddings
        grams = word_grams(texts, buckets=popri.word_buckets, seed=self.word_seed(popri))
        columns = np.full((len(grams), 1), grams.shape[1])
        joined: np.ndarray = np.concatenate([embeddings, grams, columns], axis=1, dtype=embeddings.dtype)
        return joined

    def features(self, seen: Float[np.ndarray, "text seen"], popri: Popri) -> Float[np.ndarray, "text feature"]:
        """Phi of the witness function, of norm at most 1 where the embeddings are unit vectors or zeros.

        Meaning and words have the shares `1 - popri.word_share` and `popri.word_share` of its square.
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
        """The public seed of the words' hash."""
        return derived_seed(popri.seed, "words")

    def of_words(self, mean: Float[np.ndarray, " feature"], popri: Popri) -> Float[np.ndarray, " bucket"]:
        """The words' part of mean features, of the size that `fedtext.embedding.words.bucket_features` gives it."""
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
        """What one class's released mean says of that class's candidates."""
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
        """How good a round's candidates are by released values alone; larger is better, and rounds compare.

        With the witness, minus the squared distance between released and candidate mean features (an MMD^2, up to the
        noise's constant), averaged over classes; without, the mean score of the candidates. None of them is empty.
        """
        if not self.witness:
            return float(scores.mean())
        phi = self.features(seen, popri)
        gaps = [phi[label == c].mean(axis=0) - mean for c, mean in enumerate(released) if (label == c).any()]
        return -float(np.mean([gap @ gap for gap in gaps]))


class EveryRound(ABC):
    """A ballot a unit and round, with a number for each of the round's K x J candidates.

    Attributes:
        release: The releases' name.
        first_round: The round of the first of them.
        non_negative: Whether no ballot has a number below 0.
    """

    release: ClassVar[str] = "popri.scores"
    first_round: ClassVar[int] = 1
    non_negative: ClassVar[bool] = False

    def width(self, popri: Popri, embedding_dim: int) -> int:
        """Numbers that a client sends in a round: one a candidate."""
        return popri.prompts * popri.responses

    def told(self, popri: Popri, embedding_dim: int) -> int:
        """Numbers that a client is sent in a round: the candidates' embeddings."""
        return self.width(popri, embedding_dim) * embedding_dim

    @abstractmethod
    def voted_on(self, candidates: Float[np.ndarray, "candidate dim"]) -> Bool[np.ndarray, " candidate"]:
        """Candidates that ballots have a number for other than zero."""

    @abstractmethod
    def ballots(
        self,
        features: Float[np.ndarray, "sample dim"],
        unit: Int[np.ndarray, " sample"],
        units: int,
        candidates: Float[np.ndarray, "candidate dim"],
        popri: Popri,
    ) -> Iterator[Float[np.ndarray, "unit candidate"]]:
        """Unclipped ballots of `units` units on one class's candidates, in blocks of units."""

    def projected(
        self,
        scores: Float[np.ndarray, " candidate"],
        candidates: Float[np.ndarray, "candidate dim"],
        label: Int[np.ndarray, " candidate"],
        popri: Popri,
    ) -> Float[np.ndarray, " candidate"]:
        """Noisy scores on the span that noiseless ones have, free of charge; as they are where there is none."""
        return scores


@dataclass(frozen=True)
class Histogram(EveryRound):
    """`nearest_histogram`: a unit's samples vote for the nearest candidate, and pass empty ones over."""

    non_negative: ClassVar[bool] = True

    def voted_on(self, candidates: Float[np.ndarray, "candidate dim"]) -> Bool[np.ndarray, " candidate"]:
        """See EveryRound."""
        return written(candidates)

    def ballots(
        self,
        features: Float[np.ndarray, "sample dim"],
        unit: Int[np.ndarray, " sample"],
        units: int,
        candidates: Float[np.ndarray, "candidate dim"],
        popri: Popri,
    ) -> Iterator[Float[np.ndarray, "unit candidate"]]:
        """See EveryRound."""
        return nearest_histogram_blocks(features, unit, units, candidates, clip_norm=UNCLIPPED)


@dataclass(frozen=True)
class Cosines(EveryRound):
    """`mean_cosine` and `mean_cosine_centred` (Algorithm 4): a unit's mean cosine with every candidate.

    An empty candidate is seen at the centre of its prompt, where it scores zero.

    Attributes:
        centred: Whether `popri.centre` is taken from a ballot before it is clipped.
    """

    centred: bool

    def voted_on(self, candidates: Float[np.ndarray, "candidate dim"]) -> Bool[np.ndarray, " candidate"]:
        """See EveryRound."""
        return np.ones(len(candidates), dtype=bool)

    def ballots(
        self,
        features: Float[np.ndarray, "sample dim"],
        unit: Int[np.ndarray, " sample"],
        units: int,
        candidates: Float[np.ndarray, "candidate dim"],
        popri: Popri,
    ) -> Iterator[Float[np.ndarray, "unit candidate"]]:
        """See EveryRound."""
        return score_blocks(
            client_means(features, unit, units),
            self._blanks_at_the_centre(candidates, popri),
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
        """Class by class on the span of the candidates' embeddings; most of the noise is gone."""
        projected = np.empty_like(scores)
        for c in np.unique(label):
            own = label == c
            rows = self._blanks_at_the_centre(candidates[own], popri)
            projected[own] = project_scores(
                scores[own], rows, centre=self._centre(popri), responses_per_prompt=popri.responses
            )
        return projected

    def _centre(self, popri: Popri) -> Centre:
        return popri.centre if self.centred else "none"

    def _blanks_at_the_centre(
        self, candidates: Float[np.ndarray, "candidate dim"], popri: Popri
    ) -> Float[np.ndarray, "candidate dim"]:
        """Candidates, the empty ones moved to the mean that centring subtracts: they score zero and move no mean."""
        centre, full = self._centre(popri), written(candidates)
        if centre == "none" or full.all():
            return candidates
        group = len(candidates) if centre == "all" else popri.responses
        sums = candidates.reshape(-1, group, candidates.shape[1]).sum(axis=1)  # the rows of empty texts are zeros
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
    """The scoring that the run asks for."""
    return SCORINGS[popri.scoring]


def single_release(popri: Popri) -> SingleRelease:
    """The same where one release serves every round; the graph has no other node that asks (pipelines.popri)."""
    scoring = scoring_of(popri)
    assert isinstance(scoring, SingleRelease)
    return scoring


def every_round(popri: Popri) -> EveryRound:
    """The same where every round has its ballots; the graph has no other node that asks (pipelines.popri)."""
    scoring = scoring_of(popri)
    assert isinstance(scoring, EveryRound)
    return scoring
