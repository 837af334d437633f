"""Embeddings of texts of which some are empty: an empty text has a row of zeros, and is never scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Float32

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder


def encode_nonempty(encoder: Encoder, texts: Sequence[str], label: str) -> Float32[np.ndarray, "text dim"]:
    """Compute unit embeddings of the texts; an empty text gets a row of zeros."""
    rows = np.zeros((len(texts), encoder.dim), dtype=np.float32)
    full = [i for i, text in enumerate(texts) if text]
    rows[full] = encoder.encode([texts[i] for i in full], label=label)
    return rows


def nonempty_mask(embeddings: Float[np.ndarray, "text dim"]) -> Bool[np.ndarray, " text"]:
    """Return a mask of the non-empty texts: an empty text's embedding is a row of zeros, any other a unit vector."""
    return np.asarray(embeddings.any(axis=1))


def nonempty_by_round(
    embeddings: Sequence[Float[np.ndarray, "text dim"]],
) -> dict[str, Float[np.ndarray, "written dim"]]:
    """Return the embeddings of each round's non-empty texts under `round_01`, ...; a round without any has no key."""
    rows = [round_rows[nonempty_mask(round_rows)] for round_rows in embeddings]
    return {f"round_{t:02d}": texts for t, texts in enumerate(rows, start=1) if len(texts)}
