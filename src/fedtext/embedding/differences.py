"""Differences of two texts' embeddings, and the direction that both have in common."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def differences_of(
    embeddings: Float[np.ndarray, "pair 2 dim"],
) -> tuple[Float[np.ndarray, "pair dim"], Float[np.ndarray, "pair dim"]]:
    """First less second of each pair, and the unit vector between them, which does not tell which of them is the first.

    A pair of which a text has no direction has zeros in both: it says nothing.
    """
    first, second = embeddings[:, 0].astype(np.float64), embeddings[:, 1].astype(np.float64)
    whole = np.asarray(first.any(axis=1) & second.any(axis=1))[:, None]
    return np.where(whole, first - second, 0.0), np.where(whole, unit_length(first + second), 0.0)


def unit_length(rows: Float[np.ndarray, "row dim"]) -> Float[np.ndarray, "row dim"]:
    """Rows of length 1; a row of zeros stays one. A row's bits are its own."""
    wide = np.array(rows, dtype=np.float64, order="C")  # one row after the other: a norm's bits are its own row's
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    return np.asarray(np.divide(wide, norms, out=np.zeros_like(wide), where=norms > 0))
