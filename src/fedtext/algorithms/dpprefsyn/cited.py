"""The parts that the paper cites: DP-PCA (Amin et al., NeurIPS 2019) and DP-KMeans (Su et al., CODASPY 2016).

They belong to the `published` form alone, whose report says that nobody is protected (docs/decisions/0070). What they
draw is drawn with floating-point numbers, of a public seed, and no door of this project counts it. So their epsilon
sets how much noise there is, and is no promise.

DP-PCA: directions one after another, each from the density exp(epsilon / 4 u'Cu) on the unit sphere of what is left, by
rejection from an angular central Gaussian (Kent, Ganeiber and Mardia, 2018). C is the second moment of rows no longer
than 1.

DP-KMeans: Lloyd's algorithm with Laplace noise on counts and on the sum of each coordinate, in so many rounds as the
budget gives sense to. Its bounds are the data's own smallest and largest values, as those of the library that the paper
uses are where none are given.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

RHO = 0.225  # Su et al.: radius of a cluster over the width of the box, and so what counts weigh against sums
FEWEST_ROUNDS, MOST_ROUNDS = 2, 7
SCALE = 500.0  # of the error at which one more round stops paying
TRIES = 100  # of a centre that keeps its distance
OF_DIRECTIONS = 1 / 3  # of the budget of DP-PCA: as much goes to the mean and to the eigenvalues, which nothing reads
Rows = Float[np.ndarray, "row dim"]


def sampled_directions(
    moment: Float[np.ndarray, "dim dim"], count: int, epsilon: float, rng: np.random.Generator
) -> Float[np.ndarray, "dim count"]:
    """Draw `count` orthonormal directions, as columns (Amin et al., Algorithm 1, its eigenvectors).

    Args:
        moment: Sum of xx' over rows x of norm at most 1.
        count: Number of directions.
        epsilon: Budget of all of them, for rows that are replaced.
        rng: Source of randomness.
    """
    left, found = np.eye(len(moment)), np.zeros((len(moment), 0))
    for _ in range(count):
        own = sampled_eigenvector(left.T @ moment @ left, epsilon / count, rng)
        found = np.column_stack([found, left @ own])
        whole, _ = np.linalg.qr(found, mode="complete")
        left = whole[:, found.shape[1] :]
    return found


def sampled_eigenvector(
    moment: Float[np.ndarray, "dim dim"], epsilon: float, rng: np.random.Generator
) -> Float[np.ndarray, " dim"]:
    """Draw a unit vector u from the density exp(epsilon / 4 u'Cu) on the sphere, a Bingham distribution.

    The proposal is the direction of a Gaussian with precision I + 2 A / b, where A is epsilon / 4 times the largest
    eigenvalue less C. With sum 1 / (b + 2 a) = 1 over the eigenvalues a of A it is accepted most often.
    """
    values, vectors = np.linalg.eigh(moment)
    steep = epsilon / 4 * (values.max() - values)
    dim, b = len(steep), _tightest(steep)
    precision = 1 + 2 * steep / b
    most = -(dim - b) / 2 + dim / 2 * np.log(dim / b)
    while True:
        drawn = rng.standard_normal(dim) / np.sqrt(precision)
        unit = drawn / np.linalg.norm(drawn)
        accepted = -(steep @ unit**2) + dim / 2 * np.log(precision @ unit**2) - most
        if np.log(rng.random()) < accepted:
            return np.asarray(vectors @ unit)


def _tightest(steep: Float[np.ndarray, " dim"]) -> float:
    """Return b in (0, dim] with sum 1 / (b + 2 a) = 1, by bisection: the sum falls in b."""
    low, high = 0.0, float(len(steep))
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (middle + 2 * steep)).sum() > 1 else (low, middle)
    return high


def noised_lloyd(
    rows: Rows, clusters: int, epsilon: float, rng: np.random.Generator
) -> Float[np.ndarray, "cluster dim"]:
    """Return the centres of DP-KMeans (Su et al.); a cluster without a row keeps its centre, and says so by that.

    Args:
        rows: The data, whose smallest and largest values bound the box.
        clusters: Number of clusters.
        epsilon: Budget of all rounds.
        rng: Source of randomness.
    """
    low, high = rows.min(axis=0), rows.max(axis=0)
    dim = rows.shape[1]
    of_counts = np.cbrt(4 * dim * RHO**2)  # the budget of a count over that of a coordinate
    rounds = rounds_of(len(rows), dim, clusters, epsilon)
    share = epsilon / rounds / (dim + of_counts)
    centres = spread_centres(low, high, clusters, rng)
    for _ in range(rounds):
        own = nearest_of(rows, centres)
        for cluster in np.unique(own):
            held = rows[own == cluster]
            count = max(len(held) + rng.laplace(scale=1 / (share * of_counts)), 0.5)
            total = held.sum(axis=0) + rng.laplace(scale=np.maximum(high - low, 1e-300) / share)
            centres[cluster] = np.clip(total / count, low, high)
    return centres


def rounds_of(rows: int, dim: int, clusters: int, epsilon: float) -> int:
    """Return the number of rounds: so many that each has the budget at which its error is small, 2 to 7."""
    weight = (dim + np.cbrt(4 * dim * RHO**2)) ** 3
    least = np.sqrt(SCALE * clusters**3 / rows**2 * weight)
    return int(max(min(epsilon / least, MOST_ROUNDS), FEWEST_ROUNDS))


def spread_centres(
    low: Float[np.ndarray, " dim"], high: Float[np.ndarray, " dim"], clusters: int, rng: np.random.Generator
) -> Float[np.ndarray, "cluster dim"]:
    """Draw first centres in the box, as far apart as they fit: spheres of one radius, halved until all do."""
    radius = float((high - low).min()) / 2
    while True:
        found: list[np.ndarray] = []
        tries = 0
        while len(found) < clusters and tries < TRIES:
            drawn = low + radius + rng.random(len(low)) * np.maximum(high - low - 2 * radius, 0)
            apart = all(np.linalg.norm(drawn - other) >= 2 * radius for other in found)
            found, tries = ([*found, drawn], 0) if apart else (found, tries + 1)
        if len(found) == clusters:
            return np.array(found)
        radius /= 2


def nearest_of(rows: Rows, centres: Float[np.ndarray, "cluster dim"]) -> Int[np.ndarray, " row"]:
    """Return the nearest centre of each row."""
    return np.asarray(((rows[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1))
