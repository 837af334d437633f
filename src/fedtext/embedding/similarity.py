"""Nearest neighbours of unit vectors by cosine, block by block, so that memory stays bounded."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Int

BLOCK_BYTES = 64 * 2**20  # at most, one block of float32 products
BLOCK_ROWS = 4096  # at most: enough for the matrix product, and little of it leaves the cache before it is read again


def nearest(
    queries: Float[np.ndarray, "query dim"], targets: Float[np.ndarray, "target dim"], *, block: int | None = None
) -> tuple[Int[np.ndarray, " query"], Float32[np.ndarray, " query"]]:
    """Index of every query's nearest target by cosine, the first of equals, and that cosine.

    Rows of both are unit vectors. `block` queries at a time; their products are written to one buffer throughout.

    Raises:
        ValueError: there is no target, or the two have different lengths.
    """
    if len(targets) == 0:
        raise ValueError("no targets: a nearest neighbour needs at least one vector to choose from")
    if queries.shape[1] != targets.shape[1]:
        raise ValueError(
            f"queries have {queries.shape[1]} dimensions, targets {targets.shape[1]}: embed both with one encoder"
        )
    step = block or max(1, min(BLOCK_ROWS, BLOCK_BYTES // (4 * len(targets))))
    columns = np.ascontiguousarray(targets, dtype=np.float32).T
    index, cosine = np.empty(len(queries), dtype=np.int64), np.empty(len(queries), dtype=np.float32)
    buffer = np.empty((min(step, len(queries)), len(targets)), dtype=np.float32)
    for first in range(0, len(queries), step):
        rows = slice(first, min(first + step, len(queries)))
        products = buffer[: rows.stop - first]
        np.matmul(queries[rows].astype(np.float32, copy=False), columns, out=products)
        index[rows] = products.argmax(axis=1)
        cosine[rows] = np.take_along_axis(products, index[rows][:, None], axis=1)[:, 0]
    return index, cosine
