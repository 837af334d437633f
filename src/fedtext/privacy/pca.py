"""The second moment of rows as a vector that can be summed and noised, and the main directions of what comes out.

Rows are not centred: of preference differences the mean is what people prefer, and centring removes it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fedtext.system.errors import InputError


def triangle_size(dim: int) -> int:
    """How many numbers the upper triangle of a matrix of `dim` rows has, its diagonal included."""
    return dim * (dim + 1) // 2


def upper_triangles(rows: Float[np.ndarray, "row dim"]) -> Float[np.ndarray, "row triangle"]:
    """The upper triangle of x x' of every row x, off the diagonal times sqrt 2: of norm |x|^2, whatever the sign of x.

    The triangle runs row by row. The factor makes its Euclidean norm the matrix's Frobenius norm.
    """
    first, second = np.triu_indices(rows.shape[1])
    wide = rows.astype(np.float64)
    return np.asarray(wide[:, first] * wide[:, second] * np.where(first == second, 1.0, np.sqrt(2.0)))


def second_moment(triangle: Float[np.ndarray, " triangle"], dim: int) -> Float[np.ndarray, "dim dim"]:
    """The symmetric matrix of which `triangle` is the upper triangle, as `upper_triangles` lays it out."""
    first, second = np.triu_indices(dim)
    matrix = np.zeros((dim, dim))
    matrix[first, second] = matrix[second, first] = triangle / np.where(first == second, 1.0, np.sqrt(2.0))
    return matrix


def main_directions(matrix: Float[np.ndarray, "dim dim"], count: int) -> Float[np.ndarray, "dim count"]:
    """Eigenvectors of the `count` largest eigenvalues as columns, the largest first, their largest entry positive.

    Raises:
        ValueError: more directions are asked for than there are.
    """
    if not 1 <= count <= len(matrix):
        raise InputError(f"{count} directions of {len(matrix)} dimensions: ask for 1 to {len(matrix)}")
    _, vectors = np.linalg.eigh(matrix)
    main = vectors[:, ::-1][:, :count]
    largest = np.abs(main).argmax(axis=0)
    return np.asarray(main * np.where(main[largest, np.arange(count)] < 0, -1.0, 1.0))
