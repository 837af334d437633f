"""The feature map phi of the witness function, and the classes of conditional generation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from fedtext.federation.private_samples import class_index, label_codes
from fedtext.params.popri import Popri
from fedtext.seeding import derived_seed
from fedtext.voting.witness import random_features


def label_index(labels: Sequence[str | None], popri: Popri) -> Int[np.ndarray, " sample"]:
    """Position of every label among the declared ones, -1 for others; all 0 when generation is unconditional."""
    return class_index(label_codes(labels), popri.labels)


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
