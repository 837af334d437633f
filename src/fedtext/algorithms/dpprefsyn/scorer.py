"""The released scorer of answers: a pure function of released values, which whoever has them may use.

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
    """Linear scorers and how often each is somebody's.

    Attributes:
        heads: Weights of each, of projected differences (theta_k).
        mixture: Their shares, which add up to 1 (p).
        directions: What differences are projected on, as columns (P); None: they are not.
        topics: Where the heads are those of topics, each one's unit vector: a prompt has the head of the nearest.
    """

    heads: Float[np.ndarray, "head part"]
    mixture: Float[np.ndarray, " head"]
    directions: Float[np.ndarray, "dim part"] | None = None
    topics: Float[np.ndarray, "head dim"] | None = None

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> Scorer:
        """From what `arrays` gave."""
        return cls(arrays["heads"], arrays["mixture"], arrays.get("directions"), arrays.get("topics"))

    @classmethod
    def random(cls, dim: int, seed: int) -> Scorer:
        """A direction that says nothing: theta from N(0, I), as a control."""
        return cls(stream(seed, "random direction").standard_normal((1, dim)), np.ones(1))

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it by name, as it is saved."""
        optional = {"directions": self.directions, "topics": self.topics}
        given = {name: value for name, value in optional.items() if value is not None}
        return {"heads": self.heads, "mixture": self.mixture, **given}

    def score(self, differences: Rows, head: Int[np.ndarray, " row"] | None = None) -> Float[np.ndarray, " row"]:
        """P(first preferred to second) of each difference phi(x, first) - phi(x, second).

        Under the mixture, sum_k p_k sigmoid(theta_k . P'd); or of the one head that is named for a row. A head must not
        be chosen by the row itself: a pair's own cluster tells which of its answers was chosen.
        """
        wins = sigmoid(self.rewards(differences))
        if head is None:
            return np.asarray(wins @ self.mixture)
        return np.asarray(np.take_along_axis(wins, head[:, None], axis=1)[:, 0])

    def rewards(self, rows: Rows) -> Float[np.ndarray, "row head"]:
        """theta_k . P'x of each row by every head.

        Raises:
            ValueError: the rows have another width than the scorer was learned for.
        """
        wide = rows.astype(np.float64)
        width = self.heads.shape[1] if self.directions is None else len(self.directions)
        if wide.shape[1] != width:
            raise InputError(f"rows of {wide.shape[1]} numbers for a scorer of {width}: embed them with its encoder")
        parts = wide if self.directions is None else wide @ self.directions
        return np.asarray(parts @ self.heads.T)

    def reward(self, embeddings: Rows) -> Float[np.ndarray, " row"]:
        """The reward of answers: the mean over the heads that have a share (section 5.2, 'RLHF')."""
        return np.asarray(self.rewards(embeddings)[:, self.mixture > 0].mean(axis=1))

    def drawn_heads(self, count: int, seed: int) -> Int[np.ndarray, " prompt"]:
        """A head for each prompt, drawn from the mixture (Algorithm 1, line 15)."""
        return stream(seed, "drawn heads").choice(len(self.mixture), count, p=self.mixture)

    def topic_heads(self, middles: Rows) -> Int[np.ndarray, " prompt"]:
        """The head of each prompt's nearest topic; `middles` are means of the embeddings of its answers.

        Raises:
            ValueError: the heads are not those of topics.
        """
        if self.topics is None:
            raise InputError("the scorer's heads are not those of topics: draw heads from the mixture")
        return nearest(middles.astype(np.float32), self.topics.astype(np.float32))[0]


@dataclass(frozen=True)
class LengthRule:
    """Prefers the longer answer (`sign` 1) or the shorter one (-1), in characters: a control that reads no pair."""

    sign: float

    def arrays(self) -> dict[str, np.ndarray]:
        """As it is saved, in place of a scorer."""
        return {LENGTH: np.array([self.sign])}

    def scores(self, answers: Sequence[str]) -> Float[np.ndarray, " answer"]:
        """Characters, with the sign."""
        return self.sign * np.array([len(answer.strip()) for answer in answers], dtype=np.float64)


def scorer_of(arrays: Mapping[str, np.ndarray]) -> Scorer | LengthRule:
    """What was saved: a scorer of embeddings, or a rule of lengths."""
    return LengthRule(float(arrays[LENGTH][0])) if LENGTH in arrays else Scorer.of(arrays)
