"""Cosine products and nearest neighbours of unit vectors, block by block, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Float32, Int

BLOCK_BYTES = 64 * 2**20  # one block of float32 products


def cosine_blocks(
    queries: Float[np.ndarray, "query dim"], targets: Float[np.ndarray, "target dim"], *, block: int | None = None
) -> Iterator[tuple[slice, Float32[np.ndarray, "block target"]]]:
    """Slices of the queries with their cosines to all targets; rows of both are unit vectors.

    `block` queries at a time, by default as many as fit in 64 MiB of products.
    """
    if queries.shape[1] != targets.shape[1]:
        raise ValueError(
            f"queries have {queries.shape[1]} dimensions, targets {targets.shape[1]}: embed both with one encoder"
        )
    step = block or max(1, BLOCK_BYTES // (4 * max(1, len(targets))))
    columns = np.ascontiguousarray(targets, dtype=np.float32).T
    for first in range(0, len(queries), step):
        rows = slice(first, min(first + step, len(queries)))
        yield rows, queries[rows].astype(np.float32, copy=False) @ columns


def nearest(
    queries: Float[np.ndarray, "query dim"], targets: Float[np.ndarray, "target dim"], *, block: int | None = None
) -> tuple[Int[np.ndarray, " query"], Float32[np.ndarray, " query"]]:
    """Index of every query's nearest target by cosine, the first of equals, and that cosine."""
    if len(targets) == 0:
        raise ValueError("no targets: a nearest neighbour needs at least one vector to choose from")
    index = np.empty(len(queries), dtype=np.int64)
    cosine = np.empty(len(queries), dtype=np.float32)
    for rows, products in cosine_blocks(queries, targets, block=block):
        index[rows] = products.argmax(axis=1)
        cosine[rows] = np.take_along_axis(products, index[rows][:, None], axis=1)[:, 0]
    return index, cosine
