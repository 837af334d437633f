"""Nearest neighbours of unit vectors by cosine, a tile of queries at a time, so that memory stays bounded.

Each query's answer is a function of that query and of the targets (fedtext.embedding.exact_product).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Int

from fedtext.embedding.exact_product import TILE, exact_tiles
from fedtext.system.errors import InputError


def nearest(
    queries: Float[np.ndarray, "query dim"], targets: Float[np.ndarray, "target dim"]
) -> tuple[Int[np.ndarray, " query"], Float32[np.ndarray, " query"]]:
    """Index of every query's nearest target by cosine, the first of equals, and that cosine.

    Rows of both are unit vectors. `TILE` queries at a time, so that products take `4 x TILE x targets` bytes.

    Raises:
        ValueError: there is no target, or the two have different lengths.
    """
    if len(targets) == 0:
        raise InputError("no targets: a nearest neighbour needs at least one vector to choose from")
    if queries.shape[1] != targets.shape[1]:
        raise InputError(
            f"queries have {queries.shape[1]} dimensions, targets {targets.shape[1]}: embed both with one encoder"
        )
    columns = np.ascontiguousarray(targets, dtype=np.float32).T
    index, cosine = np.empty(len(queries), dtype=np.int64), np.empty(len(queries), dtype=np.float32)
    for number, products in enumerate(exact_tiles(queries.astype(np.float32, copy=False), columns)):
        rows = slice(number * TILE, (number + 1) * TILE)
        index[rows] = products.argmax(axis=1)
        cosine[rows] = np.take_along_axis(products, index[rows][:, None], axis=1)[:, 0]
    return index, cosine
