"""Distances to held-out text that test clients pay for: one vector of mean features a client, one noised sum.

With e a unit embedding, f random Fourier features of the Gaussian kernel (norm 1) and z the coordinates of e on the
main axes of PUBLIC embeddings, a text says

    phi = [sqrt(.36) e,  sqrt(.27) f,  sqrt(.27) g zz',  sqrt(.1)]     zz' as a triangle, g public, g zz' clipped to 1

so |phi| <= 1, a client's mean over its texts too, and the door's clip at 1 never bites. Every client that holds text
counts as one, however much it has; the last coordinate says how many they are, for of the enrolled some may be silent.
Squared distances are what is measured less what noise adds to it, which is known: dim s^2 for a block with noise of
deviation s in each coordinate. That leaves no bias; the deviation of what is left is

    sqrt(2 dim s^4 + 4 s^2 distance^2)        and what the noised number of clients adds.

At epsilon 1, delta 1e-5 (two releases, multiplier 5.28) and n clients s is 8.8 / n for e: a squared mean gap of 0.05
is known to 0.22, 0.017 and 0.003 at 100, 400 and 1,500 clients. What two sets differ in their distance is known better,
for the common noise cancels: 2 s |difference of their means|. The draw of the clients adds at most 1 / n to a gap and
is not taken off, for its size is private.

The Frechet distance (FID) needs the covariance of all 384 coordinates, 73,920 numbers. In this budget their noise has a
norm of sqrt(73,920) x 5.28 / n, 3.6 at 400 clients, where all variance there is sums up to less than 1. So there is no
FID: `frechet_main_axes` is that of Gaussians on a few public axes, which sees spread along them and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64

from fedtext.evaluation.distribution import Pca, fit_pca, median_distance_to_medoid
from fedtext.evaluation.measures.distances import FID, FRECHET_MAIN_AXES, MEAN_GAP, MEDIAN_DISTANCE, MMD, stddev_of
from fedtext.federation.blocks import Block
from fedtext.federation.query import Parts
from fedtext.params.conditions import PUBLIC_CONTROL, SYNTHETIC
from fedtext.seeding import stream
from fedtext.voting.ballots import client_mean_blocks
from fedtext.voting.witness import random_features

CLIP_NORM = 1.0
LINEAR, KERNEL, SPREAD, PRESENT = math.sqrt(0.36), math.sqrt(0.27), math.sqrt(0.27), math.sqrt(0.1)
BANDWIDTH = 1.0  # as `distribution.mmd_squared`
DRAWS = 200  # of noise, for what it does to the Frechet distance
Row = dict[str, float | int | None]


def feature_width(dim: int, *, features: int, axes: int) -> int:
    """Width of phi of embeddings of `dim` numbers."""
    return _layout(dim, features, axes).dim


@dataclass(frozen=True)
class FeatureMap:
    """phi: public embeddings choose its axes, a public seed its random features."""

    plane: Pca
    gain: float
    features: int
    seed: int

    @classmethod
    def of(cls, public: Float[np.ndarray, "text dim"], *, features: int, axes: int, seed: int) -> FeatureMap:
        """The map whose spread block is as long as it may be on the public texts."""
        plane = fit_pca(public, axes)
        squared = np.square(public.astype(np.float64) @ plane.axes.T).sum(axis=1)
        return cls(plane, 1 / max(float(squared.max()), 1e-6), features, seed)

    @property
    def parts(self) -> dict[str, slice]:
        """Where the blocks lie."""
        return self._layout.places

    @property
    def dim(self) -> int:
        """Width of phi."""
        return self._layout.dim

    @property
    def _layout(self) -> Parts:
        return _layout(self.plane.axes.shape[1], self.features, len(self.plane.axes))

    def __call__(self, embeddings: Float[np.ndarray, "text dim"]) -> Float[np.ndarray, "text feature"]:
        """Phi of each text, each row a function of its own embedding."""
        rows = embeddings.astype(np.float64)
        kernel = random_features(rows, features=self.features, bandwidth=BANDWIDTH, seed=self.seed)
        z = np.einsum("td,ad->ta", rows, self.plane.axes)  # no BLAS: a row's bits depend on the row alone
        shrunk = self.gain / np.maximum(self.gain * np.square(z).sum(axis=1), 1.0)
        present = np.full((len(rows), 1), PRESENT)
        return np.concatenate(
            [LINEAR * rows, KERNEL * kernel, SPREAD * shrunk[:, None] * _triangle(z), present], axis=1
        )


def mean_feature_blocks(
    embeddings: Float[np.ndarray, "text dim"], unit: Int64[np.ndarray, " text"], phi: FeatureMap
) -> Iterator[Block]:
    """What each test client says: its mean of phi."""
    codes, place = np.unique(unit, return_inverse=True)
    first = 0
    for rows in client_mean_blocks(embeddings, place, len(codes), features=phi):
        yield Block(codes[first : first + len(rows)], rows)
        first += len(rows)


@dataclass(frozen=True)
class ReleasedMean:
    """Test clients' noised mean of phi; `noise` is the deviation in each coordinate of it, `miscount` a share."""

    phi: FeatureMap
    mean: Float[np.ndarray, " feature"]
    noise: float
    miscount: float

    @classmethod
    def of(cls, phi: FeatureMap, total: Float[np.ndarray, " feature"], noise: float) -> ReleasedMean:
        """Of a released sum with noise of deviation `noise`; a number of clients lost in it is taken for that noise."""
        clients = max(float(total[-1]), noise) / PRESENT
        return cls(phi, total / clients, noise / clients, noise / PRESENT / clients)

    def compare(self, texts: Float[np.ndarray, "text dim"]) -> Row:
        """One row as `measures.distances.compared` gives, without FID: each distance, and its deviation by noise."""
        features = self.phi(texts)
        gap, gap_stddev = self._squared_distance(features, "linear", LINEAR)
        mmd, mmd_stddev = self._squared_distance(features, "kernel", KERNEL)
        return {
            FID.name: None,
            MEAN_GAP.name: gap,
            stddev_of(MEAN_GAP): gap_stddev,
            MMD.name: mmd,
            stddev_of(MMD): mmd_stddev,
            FRECHET_MAIN_AXES.name: _frechet(
                self._gaussian(self.mean, self.noise), self._gaussian(features.mean(axis=0))
            ),
            MEDIAN_DISTANCE.name: median_distance_to_medoid(texts),
            "texts": len(texts),
        }

    def floor(self, public: Float[np.ndarray, "text dim"]) -> Row:
        """What noise alone makes of the Frechet distance of public texts to themselves: `mean`, `stddev`."""
        rng, known = stream(self.phi.seed, "noise of the floor"), self.phi(public).mean(axis=0)
        own = self._gaussian(known)
        draws = [known + self.noise * rng.standard_normal(len(known)) for _ in range(DRAWS)]
        distances = [_frechet(self._gaussian(draw, self.noise), own) for draw in draws]
        return {"mean": float(np.mean(distances)), "stddev": float(np.std(distances))}

    def _squared_distance(
        self, features: Float[np.ndarray, "text feature"], part: str, scale: float
    ) -> tuple[float, float]:
        """Unbiased squared distance of the means in one block, and the deviation that noise leaves in it."""
        block, s = self.phi.parts[part], self.noise / scale
        own, theirs = features[:, block] / scale, self.mean[block] / scale
        gap, dim = own.mean(axis=0) - theirs, theirs.size
        sampled = float(own.var(axis=0, ddof=1).sum()) / len(own) if len(own) > 1 else 0.0
        found = float(gap @ gap) - dim * s**2
        scaled = 2 * self.miscount * (float(gap @ theirs) + dim * s**2)  # a wrong number of clients scales their mean
        return found - sampled, math.sqrt(2 * dim * s**4 + 4 * s**2 * max(found, 0.0) + scaled**2)

    def _gaussian(
        self, mean: Float[np.ndarray, " feature"], noise: float = 0.0
    ) -> tuple[Float[np.ndarray, " axis"], Float[np.ndarray, "axis axis"]]:
        """Mean and covariance on the main axes, of a mean of phi that carries noise; no variance is below 0."""
        parts, axes = self.phi.parts, self.phi.plane.axes
        centre = axes @ (mean[parts["linear"]] / LINEAR)
        second = _square(mean[parts["spread"]] / (SPREAD * self.phi.gain), len(axes))
        # the square of a noised mean holds the noise's variance, which is known
        covariance = second - np.outer(centre, centre) + (noise / LINEAR) ** 2 * np.eye(len(axes))
        values, vectors = np.linalg.eigh(covariance)
        return centre, (vectors * np.maximum(values, 0.0)) @ vectors.T


def measured(
    released: ReleasedMean,
    public: Float[np.ndarray, "text dim"],
    rounds: Mapping[int, Float[np.ndarray, "candidate dim"]],
    synthetic: Float[np.ndarray, "synthetic dim"],
) -> tuple[dict[int, Row], dict[str, Row], Row]:
    """Rows of each round's candidates and of the sets, and the Frechet distance's floor."""
    sets = {SYNTHETIC.name: released.compare(synthetic), PUBLIC_CONTROL.name: released.compare(public)}
    return {t: released.compare(rows) for t, rows in rounds.items()}, sets, released.floor(public)


def _layout(dim: int, features: int, axes: int) -> Parts:
    return Parts.of(linear=dim, kernel=features, spread=axes * (axes + 1) // 2, present=1)


def _triangle(z: Float[np.ndarray, "text axis"]) -> Float[np.ndarray, "text pair"]:
    """Upper triangle of zz', off the diagonal times sqrt 2, so that its norm is that of the square."""
    i, j = np.triu_indices(z.shape[1])
    rows: np.ndarray = z[:, i] * z[:, j] * np.where(i == j, 1.0, math.sqrt(2))
    return rows


def _square(triangle: Float[np.ndarray, " pair"], axes: int) -> Float[np.ndarray, "axis axis"]:
    """The symmetric matrix that `_triangle` was made of."""
    i, j = np.triu_indices(axes)
    square = np.zeros((axes, axes))
    square[i, j] = square[j, i] = triangle / np.where(i == j, 1.0, math.sqrt(2))
    return square


def _frechet(
    a: tuple[Float[np.ndarray, " axis"], Float[np.ndarray, "axis axis"]],
    b: tuple[Float[np.ndarray, " axis"], Float[np.ndarray, "axis axis"]],
) -> float:
    """Frechet distance of two Gaussians told by mean and covariance."""
    values, vectors = np.linalg.eigh(a[1])
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    overlap = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ b[1] @ root), 0.0)).sum()
    gap = a[0] - b[0]
    return float(max(gap @ gap + np.trace(a[1]) + np.trace(b[1]) - 2 * overlap, 0.0))
