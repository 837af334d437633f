"""The second moment of rows as a vector that can be summed and noised, and the principal directions of a noisy one.

Rows are not centred: of preference differences the mean is the common preference, and centring removes it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fedtext.system.errors import InputError


def triangle_size(dim: int) -> int:
    """Return how many numbers the upper triangle of a matrix of `dim` rows has, its diagonal included."""
    return dim * (dim + 1) // 2


def upper_triangles(rows: Float[np.ndarray, "row dim"]) -> Float[np.ndarray, "row triangle"]:
    """Compute the upper triangle of x x' of every row x, with off-diagonal entries times sqrt 2.

    The triangle runs row by row. The factor makes its Euclidean norm the matrix's Frobenius norm, |x|^2; x and -x have
    the same triangle.
    """
    first, second = np.triu_indices(rows.shape[1])
    wide = rows.astype(np.float64)
    return np.asarray(wide[:, first] * wide[:, second] * np.where(first == second, 1.0, np.sqrt(2.0)))


def second_moment(triangle: Float[np.ndarray, " triangle"], dim: int) -> Float[np.ndarray, "dim dim"]:
    """Build the symmetric matrix whose upper triangle is `triangle`, in the layout of `upper_triangles`."""
    first, second = np.triu_indices(dim)
    matrix = np.zeros((dim, dim))
    matrix[first, second] = matrix[second, first] = triangle / np.where(first == second, 1.0, np.sqrt(2.0))
    return matrix


def main_directions(matrix: Float[np.ndarray, "dim dim"], count: int) -> Float[np.ndarray, "dim count"]:
    """Compute eigenvectors of the `count` largest eigenvalues, as columns, the largest first.

    The sign of a column makes its largest entry positive.

    Raises:
        ValueError: `count` exceeds the dimension.
    """
    if not 1 <= count <= len(matrix):
        raise InputError(
            f"{count} directions of {len(matrix)} dimensions: ask for 1 to {len(matrix)}",
            code="too-many-directions",
            parameter="count",
            value=count,
        )
    _, vectors = np.linalg.eigh(matrix)
    main = vectors[:, ::-1][:, :count]
    largest = np.abs(main).argmax(axis=0)
    return np.asarray(main * np.where(main[largest, np.arange(count)] < 0, -1.0, 1.0))
