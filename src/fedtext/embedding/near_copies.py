"""Texts that say again what an earlier one said: the first of them stays."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int


def without_near_copies(embeddings: Float[np.ndarray, "text dim"], similarity: float) -> Int[np.ndarray, " kept"]:
    """Rows, in order, whose cosine to every row kept before them is below `similarity`; rows are unit vectors."""
    kept: list[int] = []
    chosen = np.empty_like(embeddings)
    for row, vector in enumerate(embeddings):
        if not kept or float((chosen[: len(kept)] @ vector).max()) < similarity:
            chosen[len(kept)] = vector
            kept.append(row)
    return np.array(kept, dtype=np.int64)
