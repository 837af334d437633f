"""Spherical k-means: topics of public texts as unit vectors, without privacy cost."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fedtext.embedding.similarity import nearest, unit_length
from fedtext.seeding import stream

STEPS = 20  # of Lloyd's algorithm


def spherical_centres(rows: Float[np.ndarray, "row dim"], count: int, seed: int) -> Float[np.ndarray, "topic dim"]:
    """Cluster unit vectors by cosine, and return the unit vector of each of `count` clusters.

    The clusters start at rows drawn at random. One that no row is nearest to keeps its centre.

    Args:
        rows: Unit vectors, at least `count` of them.
        count: Number of clusters.
        seed: Seed of the draw.
    """
    centres = rows[stream(seed, "topics").choice(len(rows), count, replace=False)]
    for _ in range(STEPS):
        own = nearest(rows.astype(np.float32), centres.astype(np.float32))[0]
        sums = np.zeros_like(centres)
        np.add.at(sums, own, rows)
        centres = np.where(sums.any(axis=1, keepdims=True), unit_length(sums), centres)
    return np.asarray(centres)
