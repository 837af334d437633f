"""The released scorer of answers: a pure function of released values, without further privacy cost.

`Scorer.score` of a difference of two answers' embeddings is the probability that people prefer the first one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fedtext.embedding.similarity import nearest
from fedtext.seeding import stream
from fedtext.system.errors import InputError
from fedtext.training.bradley_terry import sigmoid

LENGTH = "length"
Rows = Float[np.ndarray, "row dim"]


@dataclass(frozen=True)
class Scorer:
    """Linear scorers ("heads") and the share of units that each represents.

    Attributes:
        heads: Weights of each head on projected differences (theta_k).
        mixture: Shares of the heads, which add up to 1 (p).
        directions: Projection of differences, as columns (P); None: no projection.
        topics: Unit vector of each topic if heads belong to topics: a prompt has the head of the nearest topic.
        centres: Centre of each head's cluster of projected differences, if heads belong to such.
    """

    heads: Float[np.ndarray, "head part"]
    mixture: Float[np.ndarray, " head"]
    directions: Float[np.ndarray, "dim part"] | None = None
    topics: Float[np.ndarray, "head dim"] | None = None
    centres: Float[np.ndarray, "head part"] | None = None

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> Scorer:
        """Build a scorer from the arrays that `arrays` returned."""
        optional = (arrays.get(name) for name in ("directions", "topics", "centres"))
        return cls(arrays["heads"], arrays["mixture"], *optional)

    @classmethod
    def random(cls, dim: int, seed: int) -> Scorer:
        """Return a scorer with random theta from N(0, I), as a baseline."""
        return cls(stream(seed, "random direction").standard_normal((1, dim)), np.ones(1))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays by name, as they are saved."""
        optional = {"directions": self.directions, "topics": self.topics, "centres": self.centres}
        given = {name: value for name, value in optional.items() if value is not None}
        return {"heads": self.heads, "mixture": self.mixture, **given}

    def score(self, differences: Rows, head: Int[np.ndarray, " row"] | None = None) -> Float[np.ndarray, " row"]:
        """Compute P(first preferred to second) of each difference phi(x, first) - phi(x, second).

        It is the mixture's, sum_k p_k sigmoid(theta_k . P'd), or that of the one head given for a row. The head must
        not depend on the row itself: a pair's own cluster reveals which of its answers was chosen.
        """
        wins = sigmoid(self.rewards(differences))
        if head is None:
            return np.asarray(wins @ self.mixture)
        return np.asarray(np.take_along_axis(wins, head[:, None], axis=1)[:, 0])

    def rewards(self, rows: Rows) -> Float[np.ndarray, "row head"]:
        """Compute theta_k . P'x of each row for every head.

        Raises:
            ValueError: the rows have another width than the scorer was trained for.
        """
        wide = rows.astype(np.float64)
        width = self.heads.shape[1] if self.directions is None else len(self.directions)
        if wide.shape[1] != width:
            raise InputError(
                f"rows of {wide.shape[1]} numbers for a scorer of {width}: embed them with its encoder",
                code="rows-do-not-fit-scorer",
                value=wide.shape[1],
            )
        parts = wide if self.directions is None else wide @ self.directions
        return np.asarray(parts @ self.heads.T)

    def reward(self, embeddings: Rows) -> Float[np.ndarray, " row"]:
        """Compute the reward of answers: the mean over the heads with a positive share (section 5.2, 'RLHF')."""
        return np.asarray(self.rewards(embeddings)[:, self.mixture > 0].mean(axis=1))

    def drawn_heads(self, count: int, seed: int) -> Int[np.ndarray, " prompt"]:
        """Sample a head for each prompt from the mixture (Algorithm 1, line 15)."""
        return stream(seed, "drawn heads").choice(len(self.mixture), count, p=self.mixture)

    def topic_heads(self, middles: Rows) -> Int[np.ndarray, " prompt"]:
        """Return the head of each prompt's nearest topic; `middles` are means of the embeddings of its answers.

        Raises:
            ValueError: the heads do not belong to topics.
        """
        if self.topics is None:
            raise InputError(
                "the scorer's heads are not those of topics: draw heads from the mixture", code="heads-without-topics"
            )
        return nearest(middles.astype(np.float32), self.topics.astype(np.float32))[0]


@dataclass(frozen=True)
class LengthRule:
    """Baseline that prefers the longer answer (`sign` 1) or the shorter one (-1), in characters, and reads no pair."""

    sign: float

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the rule as it is saved, in place of a scorer."""
        return {LENGTH: np.array([self.sign])}

    def scores(self, answers: Sequence[str]) -> Float[np.ndarray, " answer"]:
        """Return the signed number of characters of each answer."""
        return self.sign * np.array([len(answer.strip()) for answer in answers], dtype=np.float64)


def scorer_of(arrays: Mapping[str, np.ndarray]) -> Scorer | LengthRule:
    """Restore what was saved: a scorer of embeddings, or a rule of lengths."""
    return LengthRule(float(arrays[LENGTH][0])) if LENGTH in arrays else Scorer.of(arrays)
