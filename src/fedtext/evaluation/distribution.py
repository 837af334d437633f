"""Distances of synthetic to held-out text in embedding space: Frechet distance (FID), mean gap, MMD, spread, PCA.

Everything is computed in float64. FID is biased upwards at finite size: two samples of the SAME text are not at
distance 0, and `self_distance` measures by how much, so that a report never reads a distance without it. The bias falls
with size, so distances compare only at equal sizes: `HeldOut` holds a report to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from fedtext.seeding import stream
from fedtext.system.errors import InputError

FID_TEXTS = 240  # a side; Private Evolution compares 256 candidates a round by default, and an empty text is left out
TakenOfTwo = Callable[[np.ndarray, np.ndarray], float]
ROWS_AT_ONCE = 2048  # blocks of pairwise distances: 2048 x 10,000 doubles are 160 MB


class Bias(NamedTuple):
    """Mean and standard deviation of a distance between two disjoint samples of one text, of `size` texts each."""

    mean: float
    stddev: float
    size: int


def frechet_distance(a: Float[np.ndarray, "text dim"], b: Float[np.ndarray, "other width"]) -> float:
    """Compute the Frechet distance |mu_a - mu_b|^2 + tr(C_a + C_b - 2 (C_a C_b)^(1/2)) of Gaussians fitted to the rows.

    With triangular factors C = R'R the trace of the root is the sum of the singular values of R_a R_b', the roots of
    the eigenvalues of the symmetric product R_a C_b R_a': real and not negative whatever the rank.

    Raises:
        ValueError: a side has fewer than two rows, widths differ, or a value is not finite.
    """
    a, b = _checked(a, "first"), _checked(b, "second")
    if a.shape[1] != b.shape[1]:
        raise InputError(
            f"embeddings of {a.shape[1]} and {b.shape[1]} dimensions: use one encoder for both sides",
            code="dimensions-differ",
        )
    root_a, root_b = _covariance_root(a), _covariance_root(b)
    overlap = np.linalg.svd(root_a @ root_b.T, compute_uv=False).sum()
    spread = np.sum(root_a**2) + np.sum(root_b**2) - 2 * overlap
    return float(max(mean_gap(a, b) + spread, 0.0))


def self_distance(
    distance: TakenOfTwo, x: Float[np.ndarray, "text dim"], n: int, repeats: int, rng: np.random.Generator
) -> Bias:
    """Estimate the distance between two disjoint random samples of `x`, of min(n, half of `x`) rows each.

    It is what a perfect synthetic data set of that size would show. FID's shrinks about as 1/n.
    """
    size = min(n, len(x) // 2)
    if size < 2 or repeats < 1:
        raise InputError(
            f"a floor needs two disjoint samples of 2 or more texts, got {len(x)} texts: add texts",
            code="too-few-texts-for-floor",
            value=len(x),
        )
    draws = []
    for _ in range(repeats):
        order = rng.permutation(len(x))
        draws.append(distance(x[order[:size]], x[order[size : 2 * size]]))
    return Bias(float(np.mean(draws)), float(np.std(draws, ddof=min(1, repeats - 1))), size)


def mean_gap(a: Float[np.ndarray, "text dim"], b: Float[np.ndarray, "other dim"]) -> float:
    """Compute the squared Euclidean distance of the two mean embeddings, FID's first term."""
    gap = a.mean(axis=0, dtype=np.float64) - b.mean(axis=0, dtype=np.float64)
    return float(gap @ gap)


def unbiased_mean_gap(a: Float[np.ndarray, "text dim"], b: Float[np.ndarray, "other dim"]) -> float:
    """Compute `mean_gap` less its finite-sample bias, tr(C_a) / n_a + tr(C_b) / n_b.

    It is about 0 for two samples of one distribution, possibly below, so sets of different sizes can be compared.
    """
    noise = sum(float(x.var(axis=0, ddof=1, dtype=np.float64).sum()) / len(x) for x in (a, b))
    return mean_gap(a, b) - noise


def mmd_squared(
    a: Float[np.ndarray, "text dim"], b: Float[np.ndarray, "other dim"], *, bandwidth: float = 1.0
) -> float:
    """Compute the unbiased MMD^2 under exp(-|x - y|^2 / (2 bandwidth^2)); it may be slightly negative."""
    a, b = _checked(a, "first"), _checked(b, "second")

    def total(x: Float[np.ndarray, "text dim"], y: Float[np.ndarray, "other dim"]) -> float:
        return sum(float(np.exp(-d / (2 * bandwidth**2)).sum()) for d in squared_distance_blocks(x, y))

    m, n = len(a), len(b)
    within = (total(a, a) - m) / (m * (m - 1)) + (total(b, b) - n) / (n * (n - 1))
    return within - 2 * total(a, b) / (m * n)


def median_distance_to_medoid(x: Float[np.ndarray, "text dim"]) -> float:
    """Compute the median distance of the rows to their medoid, the row nearest to all others; small if clustered."""
    x = np.asarray(x, dtype=np.float64)
    if len(x) == 0:
        raise InputError("no embeddings: a medoid needs at least one text", code="no-embeddings")
    reach = np.concatenate([np.sqrt(block).sum(axis=1) for block in squared_distance_blocks(x, x)])
    return float(np.median(np.linalg.norm(x - x[reach.argmin()], axis=1)))


@dataclass(frozen=True)
class HeldOut:
    """Held-out embeddings, and the one sample size at which every FID is computed, so that all share one bias.

    `size` is `FID_TEXTS` in every report, so that reports compare too. It is less only where half of the held-out texts
    (for the self-distance) or the smallest compared set have fewer. Each FID is a mean over `repeats` samples of `size`
    texts a side; all sets are compared with the same held-out samples.
    """

    embeddings: Float[np.ndarray, "text dim"]
    size: int
    repeats: int = 4
    seed: int = 0

    @classmethod
    def of(cls, embeddings: Float[np.ndarray, "text dim"], *, smallest_set: int, seed: int = 0) -> HeldOut:
        """Build the reference at `FID_TEXTS`, or at the largest size that the held-out texts and smallest set allow."""
        return cls(embeddings, min(FID_TEXTS, len(embeddings) // 2, smallest_set), seed=seed)

    def floor(self, distance: TakenOfTwo = frechet_distance) -> Bias:
        """Return a distance of held-out text to itself at this size, by default FID."""
        return self_distance(distance, self.embeddings, self.size, self.repeats, stream(self.seed, "fid floor"))

    def frechet(self, texts: Float[np.ndarray, "text dim"]) -> float:
        """Return the FID of `texts` at this size.

        Raises:
            ValueError: there are fewer than `size` texts.
        """
        return self.over_draws(frechet_distance, texts)

    def over_draws(self, distance: TakenOfTwo, texts: Float[np.ndarray, "text dim"]) -> float:
        """Return the mean of `distance(texts, held-out text)` over the samples of this size.

        Raises:
            ValueError: there are fewer than `size` texts.
        """
        if len(texts) < self.size:
            raise InputError(
                f"{len(texts)} texts to compare at size {self.size}: set smallest_set to {len(texts)}",
                code="smaller-than-smallest-set",
                parameter="smallest_set",
                value=self.size,
            )
        draws = []
        for repeat in range(self.repeats):
            ours = stream(self.seed, "fid texts", repeat).permutation(len(texts))[: self.size]
            theirs = stream(self.seed, "fid held out", repeat).permutation(len(self.embeddings))[: self.size]
            draws.append(distance(texts[ours], self.embeddings[theirs]))
        return float(np.mean(draws))


class Pca(NamedTuple):
    """A plane fitted to embeddings: `mean`, two orthonormal `axes`, and the share of variance on each."""

    mean: Float[np.ndarray, " dim"]
    axes: Float[np.ndarray, "axis dim"]
    explained: Float[np.ndarray, " axis"]

    def project(self, x: Float[np.ndarray, "text dim"]) -> Float[np.ndarray, "text axis"]:
        """Return the coordinates of embeddings on the plane."""
        coordinates: np.ndarray = (np.asarray(x, dtype=np.float64) - self.mean) @ self.axes.T
        return coordinates


def fit_pca(x: Float[np.ndarray, "text dim"], axes: int = 2) -> Pca:
    """Fit principal axes, each with its largest loading positive, so that a repeated run draws the same figure."""
    x = _checked(x, "only")
    mean = x.mean(axis=0)
    _, singular, rows = np.linalg.svd(x - mean, full_matrices=False)
    rows = rows[:axes]
    signs = np.sign(rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)])
    variance = singular**2
    return Pca(mean, rows * signs[:, None], variance[:axes] / max(variance.sum(), np.finfo(float).tiny))


def _checked(x: Float[np.ndarray, "text dim"], side: str) -> Float[np.ndarray, "text dim"]:
    x = np.asarray(x, dtype=np.float64)
    if len(x) < 2:
        raise InputError(
            f"the {side} set has {len(x)} texts: a distribution needs at least 2",
            code="too-few-texts-for-distribution",
            value=len(x),
        )
    if not np.isfinite(x).all():
        bad = int((~np.isfinite(x).all(axis=1)).sum())
        raise InputError(
            f"{bad} of the {side} set's {len(x)} embeddings are not finite: embed the texts again",
            code="embeddings-not-finite",
        )
    return x


def _covariance_root(x: Float[np.ndarray, "text dim"]) -> Float[np.ndarray, "rank dim"]:
    """Return the triangular R with R'R the unbiased covariance of the rows."""
    root: np.ndarray = np.linalg.qr(x - x.mean(axis=0), mode="r") / np.sqrt(len(x) - 1)
    return root


def squared_distance_blocks(
    x: Float[np.ndarray, "text dim"], y: Float[np.ndarray, "other dim"]
) -> Iterator[Float[np.ndarray, "block other"]]:
    """Yield the squared Euclidean distances of the rows of `x`, `ROWS_AT_ONCE` at a time, to all rows of `y`."""
    norms = np.sum(y**2, axis=1)
    for first in range(0, len(x), ROWS_AT_ONCE):
        block = x[first : first + ROWS_AT_ONCE]
        yield np.maximum(np.sum(block**2, axis=1)[:, None] + norms - 2 * block @ y.T, 0.0)
