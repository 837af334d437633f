"""The feature map phi of the witness function, the classes of conditional generation, and which texts count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.params.popri import Popri
from fedtext.seeding import derived_seed
from fedtext.voting.witness import random_features


def label_index(labels: Sequence[str | None], popri: Popri) -> Int[np.ndarray, " sample"]:
    """Position of every label among the declared ones, -1 for others; all 0 when generation is unconditional."""
    if not popri.labels:
        return np.zeros(len(labels), dtype=np.int64)
    position = {label: i for i, label in enumerate(popri.labels)}
    return np.asarray([position.get(str(label), -1) for label in labels], dtype=np.int64)


def feature_map(embeddings: Float[np.ndarray, "text dim"], popri: Popri) -> Float[np.ndarray, "text feature"]:
    """Phi of the witness function: random Fourier features of the unit embeddings, or the embeddings themselves."""
    if popri.scoring != "witness_rff":
        return embeddings
    return random_features(
        embeddings,
        features=popri.random_features,
        bandwidth=popri.bandwidth,
        seed=derived_seed(popri.seed, "random features"),
    )


def written(embeddings: Float[np.ndarray, "text dim"]) -> Bool[np.ndarray, " text"]:
    """Which texts are not empty: the embedding of an empty text is a row of zeros, that of any other a unit vector."""
    return np.asarray(embeddings.any(axis=1))
