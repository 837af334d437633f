"""Scorings by ballots: every round the asked clients score its candidates, and the sum of their ballots is noised.

Such scores say what is best within a round, but not how good the round is: histograms sum to the number of votes,
centred ballots to zero, and a ballot of many cosines is clipped to norm 1, so that their level cancels and a round of
equal texts scores highest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.embedding.blanks import written
from fedtext.params.popri import Popri
from fedtext.voting.ballots import client_means, nearest_histogram_blocks, score_blocks
from fedtext.voting.centring import Centre
from fedtext.voting.projection import project_scores
from fedtext.voting.tally import UNCLIPPED


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
