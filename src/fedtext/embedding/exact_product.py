"""Matrix products without rounding, so that no bit of a row depends on the other rows (batch invariance).

A BLAS adds up in an order of its own, which depends on the shape of the product and on some processors on a row's
position (OpenBLAS's kernel for Haswell has three orders for the rows of one float32 matrix). A client's vote must not
change because another client is present. Therefore both factors are rounded to a grid that is coarse enough for every
product and every sum to be a whole number below 2^53, which float64 holds exactly in any order.

A row's grid depends on the row alone, a column's on the column alone. It is as fine as the width allows: 22 bits of
the largest entry at 384 dimensions, where float32 has 24 bits of each entry. float64 factors are split into two such
parts.
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
    """Compute `rows @ columns` in the more precise type of the two; each row's bits depend on it and `columns` alone.

    A row that holds NaN or an infinite value gives NaN and affects no other row.
    """
    product = np.empty((len(rows), columns.shape[1]), dtype=np.result_type(rows, columns))
    for number, tile in enumerate(exact_tiles(rows, columns)):
        product[number * TILE : (number + 1) * TILE] = tile
    return product


def exact_tiles(
    rows: Float[np.ndarray, "row dim"], columns: Float[np.ndarray, "dim column"]
) -> Iterator[Float[np.ndarray, "tile column"]]:
    """Yield `exact_product`, `TILE` rows at a time, for products too large for memory; `columns` are rounded once."""
    kind = np.result_type(rows, columns)
    parts = 2 if kind == np.float64 else 1
    bits = (MANTISSA - int(max(rows.shape[1], 1)).bit_length()) // 2
    right, right_scale = _on_grid(columns.T, bits, parts)
    for first in range(0, len(rows), TILE):
        left, left_scale = _on_grid(rows[first : first + TILE], bits, parts)
        whole = left[0] @ right[0].T
        if parts == 2:  # the product of the two fine parts is smaller than the precision of the others
            whole += (left[0] @ right[1].T + left[1] @ right[0].T) * 0.5**bits
        yield (whole * left_scale * right_scale.T).astype(kind)


def _on_grid(
    values: Float[np.ndarray, "row dim"], bits: int, parts: int
) -> tuple[list[Float[np.ndarray, "row dim"]], Float[np.ndarray, "row 1"]]:
    """Return rows as whole numbers of at most `bits` bits, the remainders scaled by 2^bits, and the grid's step.

    The step is a power of two, so that scaling by it rounds nothing.
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
