"""Embeddings of public answers to public prompts, which set the lengths of differences and the topics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float

from fedtext.embedding.clusters import spherical_centres
from fedtext.embedding.similarity import unit_length
from fedtext.privacy.pca import main_directions
from fedtext.system.errors import InputError


@dataclass(frozen=True)
class Candidates:
    """Embedded answers: `embeddings[x, l]` is phi(x, a_l), a unit vector; zeros where there is no answer."""

    embeddings: Float[np.ndarray, "prompt answer dim"]

    @property
    def written(self) -> Bool[np.ndarray, "prompt answer"]:
        """Mask of the non-empty answers."""
        return np.asarray(self.embeddings.any(axis=2))

    @cached_property
    def differences(self) -> Float[np.ndarray, "pair dim"]:
        """Compute phi(x, a) - phi(x, b) of any two different answers to a prompt.

        Raises:
            ValueError: there are none.
        """
        there = self.written
        found = [
            self.embeddings[rows, first] - self.embeddings[rows, second]
            for first, second in combinations(range(self.embeddings.shape[1]), 2)
            if (rows := np.flatnonzero(there[:, first] & there[:, second])).size
        ]
        kept = np.concatenate(found) if found else np.zeros((0, self.embeddings.shape[2]))
        kept = kept[kept.any(axis=1)]
        if not len(kept):
            raise InputError(
                "no prompt has two different answers: raise dpprefsyn.answers, sampler.max_new_tokens or temperature",
                code="no-different-answers",
            )
        return np.asarray(kept, dtype=np.float64)

    def radius(self, quantile: float) -> float:
        """Return the quantile of the differences' lengths, to which private differences are clipped (R)."""
        return float(np.quantile(np.linalg.norm(self.differences, axis=1), quantile))

    def directions(self, count: int) -> Float[np.ndarray, "dim count"]:
        """Return the principal directions of the differences, which are not centred."""
        return main_directions(self.differences.T @ self.differences, count)

    @property
    def middles(self) -> Float[np.ndarray, "prompt dim"]:
        """Return the unit mean embedding of each prompt's answers: the prompt's subject, whichever answer is better."""
        return unit_length(self.embeddings.sum(axis=1))

    def topics(self, count: int, seed: int) -> Float[np.ndarray, "topic dim"]:
        """Return unit vectors of `count` topics of the prompts, by spherical k-means.

        Raises:
            ValueError: fewer prompts than topics have an answer.
        """
        rows = self.middles[self.middles.any(axis=1)]
        if len(rows) < count:
            raise InputError(
                f"dpprefsyn.heads is {count}, but {len(rows)} public prompts have an answer: ask for fewer",
                code="more-heads-than-prompts",
                parameter="dpprefsyn.heads",
                value=count,
            )
        return spherical_centres(rows, count, seed)
