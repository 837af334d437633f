"""Matrix products without rounding, so that no bit of a row depends on the other rows.

A BLAS adds up in an order of its own: by the shape of the product, and on some processors by a row's place in it
(OpenBLAS's kernel for Haswell has three orders for the rows of one float32 matrix). A client's vote must not move
because another client is there. So nothing is left to round: both factors are put on a grid that is coarse enough for
every product and every sum to be a whole number below 2^53, which float64 holds exactly, in whatever order.

A row's grid follows from the row alone, a column's from the column. It is as fine as the width allows: 22 bits of the
largest entry at 384 dimensions, where a float32 has 24 of each entry. float64 factors are taken in two such parts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

MANTISSA = 53  # bits of a float64
TILE = 256  # rows at a time: float64 copies stay small


def exact_product(
    rows: Float[np.ndarray, "row dim"], columns: Float[np.ndarray, "dim column"]
) -> Float[np.ndarray, "row column"]:
    """`rows @ columns` in the preciser type of the two, each row's bits a function of that row and of `columns`.

    A row that holds NaN or an infinite value gives NaN, and spoils no other.
    """
    product = np.empty((len(rows), columns.shape[1]), dtype=np.result_type(rows, columns))
    for number, tile in enumerate(exact_tiles(rows, columns)):
        product[number * TILE : (number + 1) * TILE] = tile
    return product


def exact_tiles(
    rows: Float[np.ndarray, "row dim"], columns: Float[np.ndarray, "dim column"]
) -> Iterator[Float[np.ndarray, "tile column"]]:
    """The same, `TILE` rows at a time, where the whole product would not fit; `columns` are put on their grid once."""
    kind = np.result_type(rows, columns)
    parts = 2 if kind == np.float64 else 1
    bits = (MANTISSA - int(max(rows.shape[1], 1)).bit_length()) // 2
    right, right_scale = _on_grid(columns.T, bits, parts)
    for first in range(0, len(rows), TILE):
        left, left_scale = _on_grid(rows[first : first + TILE], bits, parts)
        whole = left[0] @ right[0].T
        if parts == 2:  # the product of the two fine parts is below what is left of the others
            whole += (left[0] @ right[1].T + left[1] @ right[0].T) * 0.5**bits
        yield (whole * left_scale * right_scale.T).astype(kind)


def _on_grid(
    values: Float[np.ndarray, "row dim"], bits: int, parts: int
) -> tuple[list[Float[np.ndarray, "row dim"]], Float[np.ndarray, "row 1"]]:
    """Rows as whole numbers of at most `bits` bits, the rest of them 2^-bits as large, and the size of one step.

    The step is a power of two, by which nothing is rounded.
    """
    exact = values.astype(np.float64)
    largest = np.abs(exact).max(axis=1, keepdims=True, initial=0.0)
    exponent = np.frexp(largest)[1] - bits
    step = np.ldexp(1.0, exponent)
    left, found = np.ldexp(exact, -exponent), []
    for _ in range(parts):
        found.append(np.rint(left))
        left = np.ldexp(left - found[-1], bits)
    return found, step
