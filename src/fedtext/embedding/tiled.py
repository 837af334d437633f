"""Matrix products in which every row is computed as if it were alone.

A BLAS picks its kernel, and with it the last bits of a result, by the shape of the whole product. Here every product
has `TILE` rows, filled up with zeros, so that a row's result depends on the row and on the other factor alone: in any
company, at any place (tests/embedding/test_tiled.py). A client's vote must not move because another client is there.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

TILE = 256  # rows: enough for the product to run at full speed, little to waste on a handful


def tiled_product(
    rows: Float[np.ndarray, "row dim"], columns: Float[np.ndarray, "dim column"]
) -> Float[np.ndarray, "row column"]:
    """`rows @ columns`, each row's bits a function of that row and of `columns`."""
    product = np.empty((len(rows), columns.shape[1]), dtype=np.result_type(rows, columns))
    tile = np.zeros((TILE, rows.shape[1]), dtype=rows.dtype)
    for first in range(0, len(rows), TILE):
        part = rows[first : first + TILE]
        tile[: len(part)] = part
        product[first : first + TILE] = (tile @ columns)[: len(part)]
    return product
