"""Similarity of embeddings: nearest neighbours by cosine, near-duplicates, and differences of pairs.

Nearest neighbours are searched a tile of queries at a time, which bounds memory. Each query's result depends on that
query and the targets alone (`fedtext.embedding.exact_product`). Of near-duplicates the first one is kept. For a pair of
texts, the module gives the difference of the embeddings and the direction that both share.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Int

from fedtext.embedding.exact_product import TILE, exact_tiles
from fedtext.system.errors import InputError


def nearest(
    queries: Float[np.ndarray, "query dim"], targets: Float[np.ndarray, "target dim"]
) -> tuple[Int[np.ndarray, " query"], Float32[np.ndarray, " query"]]:
    """Find the nearest target of every query by cosine.

    Rows of both are unit vectors. `TILE` queries are searched at a time, so a product takes `4 x TILE x targets` bytes.

    Returns:
        Index of the nearest target, the first one of equals, and its cosine, for each query.

    Raises:
        ValueError: there is no target, or the two have different lengths.
    """
    if len(targets) == 0:
        raise InputError("no targets: a nearest neighbour needs at least one vector to choose from", code="no-targets")
    if queries.shape[1] != targets.shape[1]:
        raise InputError(
            f"queries have {queries.shape[1]} dimensions, targets {targets.shape[1]}: embed both with one encoder",
            code="dimensions-differ",
        )
    columns = np.ascontiguousarray(targets, dtype=np.float32).T
    index, cosine = np.empty(len(queries), dtype=np.int64), np.empty(len(queries), dtype=np.float32)
    for number, products in enumerate(exact_tiles(queries.astype(np.float32, copy=False), columns)):
        rows = slice(number * TILE, (number + 1) * TILE)
        index[rows] = products.argmax(axis=1)
        cosine[rows] = np.take_along_axis(products, index[rows][:, None], axis=1)[:, 0]
    return index, cosine


def without_near_duplicates(embeddings: Float[np.ndarray, "text dim"], similarity: float) -> Int[np.ndarray, " kept"]:
    """Return the rows, in order, whose cosine to every row kept before them is below `similarity`.

    Rows of `embeddings` are unit vectors.
    """
    kept: list[int] = []
    chosen = np.empty_like(embeddings)
    for row, vector in enumerate(embeddings):
        if not kept or float((chosen[: len(kept)] @ vector).max()) < similarity:
            chosen[len(kept)] = vector
            kept.append(row)
    return np.array(kept, dtype=np.int64)


def differences_of(
    embeddings: Float[np.ndarray, "pair 2 dim"],
) -> tuple[Float[np.ndarray, "pair dim"], Float[np.ndarray, "pair dim"]]:
    """Compute each pair's difference, first less second, and the unit vector of its sum, which ignores the order.

    A pair with a text whose embedding is zero has zeros in both: it expresses no preference.
    """
    first, second = embeddings[:, 0].astype(np.float64), embeddings[:, 1].astype(np.float64)
    whole = np.asarray(first.any(axis=1) & second.any(axis=1))[:, None]
    return np.where(whole, first - second, 0.0), np.where(whole, unit_length(first + second), 0.0)


def unit_length(rows: Float[np.ndarray, "row dim"]) -> Float[np.ndarray, "row dim"]:
    """Scale rows to length 1; a row of zeros stays one. A row's bits depend on that row alone."""
    wide = np.array(rows, dtype=np.float64, order="C")  # C order: a norm's bits depend on its own row alone
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    return np.asarray(np.divide(wide, norms, out=np.zeros_like(wide), where=norms > 0))
