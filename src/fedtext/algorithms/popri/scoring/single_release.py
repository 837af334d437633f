"""Scorings by one release: the clients' mean features, noised once, score the candidates of every round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from fedtext.embedding.words import bucket_features, word_grams
from fedtext.params.popri import Popri
from fedtext.seeding import derived_seed
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
