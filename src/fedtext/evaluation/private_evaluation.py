"""Private evaluation: accuracy of and distances to held-out text, from noisy sums over test clients.

ACCURACY. Each test client contributes one vector, and one noisy sum of all is released. With t the scored tokens of a
client, r its correct predictions under the evaluated condition, r_k those under condition k, and p the public model's
accuracy on public text (a public guess of the accuracy), a contribution is

    x = [t / 20,  r - p t,  r - r_k for every other condition k]        clipped to `clip_norm` tokens
    y = [(r - p t)^2, (r - r_k)^2, ...] / (2 clip_norm)                 of the clipped x

and the release mechanism clips (x, y) as a whole. Differences between conditions are small, a few tokens of a hundred,
so they are sent as they are. Tokens are many and only a denominator, so they are scaled down. The public guess makes
levels small. With counts in place of differences a client of 80 tokens would contribute 80 and not 5, at as many times
the noise.

Accuracies and gains are ratios of noisy sums. Their intervals cover the noise, whose standard deviation is known, and
the sampling of clients, for which y is needed. The privacy cost of y is small: |y| <= |x| / 2 makes the clipping norm
at most 1.12 times as large. y is overestimated by one standard deviation of its own noise, so that intervals are
conservative.

Precision, by resampling the docstrings' public test clients (median 82 tokens, 3.3 tokens of difference a client) and
this mechanism, at epsilon 1, delta 1e-5: two releases have a noise multiplier of 5.28, so a gain carries noise of 5.28
x 12 x 1.12 tokens over all tokens. In points, for 100, 400 and 1,500 test clients (20, 5 and 1 samples of each):

    deviation of a gain's noise      0.67   0.18   0.08        of the sampling of clients alone   0.23   0.15   0.10
    half of the 95% interval         1.8    0.5    0.3         of the level's                     1.9    0.6    0.35

Clipping shrinks a gain of one point by 0.06 (5 samples a client, 23% of the clients clipped) or 0.02 (one sample, 1%).
A clip of 8 has a third less noise and shrinks it by 0.1; one of 16 has a third more and shrinks it by 0.04.

DISTANCES. Each test client contributes one vector of mean features, and one noisy sum of all is released. With e a unit
embedding, f random Fourier features of the Gaussian kernel (norm 1) and z the coordinates of e on the main axes of
PUBLIC embeddings, the features of a text are

    phi = [sqrt(.36) e,  sqrt(.27) f,  sqrt(.27) g zz',  sqrt(.1)]     zz' as a triangle, g public, g zz' clipped to 1

so |phi| <= 1, a client's mean over its texts too, and the mechanism's clipping at 1 changes nothing. Every client that
holds text counts once, however much it has. The last coordinate gives the number of such clients, since some enrolled
clients may hold none. Squared distances are corrected for the bias that noise adds, which is known: dim s^2 for a block
with noise of deviation s in each coordinate. The standard deviation of the corrected distance is

    sqrt(2 dim s^4 + 4 s^2 distance^2)        and the error of the noisy number of clients.

At epsilon 1, delta 1e-5 (two releases, multiplier 5.28) and n clients s is 8.8 / n for e: a squared mean gap of 0.05 is
known to 0.22, 0.017 and 0.003 at 100, 400 and 1,500 clients. Differences between the distances of two sets are known
better, since the common noise cancels: 2 s |difference of their means|. Sampling of clients adds at most 1 / n to a gap
and is not subtracted, since its size is private.

The Frechet distance (FID) needs the covariance of all 384 coordinates, 73,920 numbers. In this budget their noise has a
norm of sqrt(73,920) x 5.28 / n, 3.6 at 400 clients, where all variance there is sums up to less than 1. So there is no
FID. `frechet_main_axes` is that of Gaussians on a few public axes: it measures spread along them and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Int64

from fedtext.evaluation.distribution import Pca, fit_pca, median_distance_to_medoid
from fedtext.evaluation.measures.distances import (
    FID,
    FRECHET_MAIN_AXES,
    MEAN_GAP,
    MEDIAN_DISTANCE,
    MMD,
    Row,
    stddev_of,
)
from fedtext.evaluation.measures.measure import PerText
from fedtext.evaluation.paired import best_control, evaluated_condition, gap_conditions, ordered_conditions, pairs
from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.query import Parts, Query
from fedtext.federation.units import Block
from fedtext.params.conditions import EPS0, PRIVATE
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.plan import planned_multiplier
from fedtext.seeding import stream
from fedtext.system.errors import InputError
from fedtext.voting.ballots import client_mean_blocks
from fedtext.voting.witness import random_features

FEATURES = "evaluation.features"


def accuracy_release(algorithm: str) -> str:
    """Return the name of an algorithm's own accuracy release.

    The features of one data root are the same for all algorithms, and are released once.
    """
    return f"evaluation.{algorithm}.accuracy"


def task_release(algorithm: str, task: str) -> str:
    """Return the name of an algorithm's release of its accuracy in a downstream task."""
    return f"evaluation.{algorithm}.{task}"


@dataclass(frozen=True)
class EvaluationQuery:
    """A query to test clients: a vector of `dim` numbers, clipped to `clip_norm`."""

    name: str
    dim: int
    clip_norm: float

    def query(self, declared: Privacy, test_units: int, releases: int) -> Query:
        """Return the query as one of `releases`, all with the same noise."""
        noise = planned_multiplier(declared, test_units, releases)
        return Query(self.name, 0, self.dim, self.clip_norm, noise)

    def query_of(self, ledger: Ledger) -> Query:
        """Return the query as one of the releases that the ledger was opened for."""
        return self.query(ledger.declaration, ledger.population, len(ledger.planned or ()))


def evaluation_ledger(
    privacy: Privacy, evaluation: Evaluation, test_units: int, asked: Sequence[EvaluationQuery]
) -> Ledger:
    """Open an empty ledger of the test units, for these releases, all with the same noise multiplier.

    Raises:
        ValueError: there is no test unit, or delta is too large for so few units.
    """
    declared = evaluation.declaration(privacy)
    if test_units < 1:
        raise InputError(
            f"{test_units} test {privacy.unit}s are expected: raise partition.test_share or privacy.population, or "
            "measure without protection (evaluation.dp=false)",
            code="too-few-test-units",
        )
    queries = [one.query(declared, test_units, len(asked)) for one in asked]
    return opened_ledger(queries, declared, test_units, part="test")


def samples_per_unit(evaluation: Evaluation, test_units: int) -> int:
    """Return the number of samples used of each test client: public, so that it does not depend on other clients."""
    return max(evaluation.max_eval_samples // test_units, 1)


def evenly_spaced_by_unit(unit: Int[np.ndarray, " sample"], most: int) -> Int[np.ndarray, " kept"]:
    """Return ascending positions of at most `most` samples of every unit, evenly spaced among the unit's samples."""
    order = np.argsort(unit, kind="stable")
    _, first, count = np.unique(unit[order], return_index=True, return_counts=True)
    place = np.arange(len(unit)) - np.repeat(first, count)
    held = np.repeat(count, count)
    kept = place * most // held > (place - 1) * most // held  # the first sample of each of `most` equal stretches
    return np.sort(order[kept])


TOKENS, SQUARES = 1 / 20, 1 / 2  # scales of a client's token count, and of squares
BLOCK = 1024
NORMAL = 1.96  # of a 95% interval


def joint_clip_norm(clip_norm: float) -> float:
    """Return the largest norm of a whole contribution: |y| <= |x|^2 / (2 clip_norm) <= clip_norm / 2."""
    return clip_norm * math.sqrt(1 + SQUARES**2)


def released_order(conditions: Sequence[str]) -> tuple[str, ...]:
    """Return the evaluated condition, then the others in the order of `CONDITIONS`, as coordinates are released.

    Raises:
        ValueError: no algorithm's condition, or no public model, was scored.
    """
    judged = evaluated_condition(conditions)
    if judged is None or EPS0.name not in conditions:
        raise InputError(
            f"{', '.join(conditions)}: a private evaluation compares what an algorithm made with {EPS0.name}",
            code="condition-not-compared",
            value=list(conditions),
        )
    return judged, *(name for name in ordered_conditions(conditions) if name != judged)


def accuracy_blocks(
    correct: Mapping[str, Int[np.ndarray, " text"]],
    tokens: Int[np.ndarray, " text"],
    unit: Int64[np.ndarray, " text"],
    *,
    guess: float,
    clip_norm: float,
    scale: float = TOKENS,
) -> Iterator[Block]:
    """Yield the contribution of each test client to the accuracy release.

    Rows are `1 + 2 len(correct)` wide, in the order of `released_order`. A client's row is computed from its own
    whole-number counts, so other clients do not change it.

    Args:
        correct: Correct predictions in each text, by condition.
        tokens: Number of predictions in each text.
        unit: The client of each text.
        guess: A public guess of the accuracy.
        clip_norm: Clipping norm of a client's counts, in tokens.
        scale: Factor of `tokens` in the contribution.
    """
    codes, place = np.unique(unit, return_inverse=True)
    names = released_order(tuple(correct))

    def of_clients(counts: Int[np.ndarray, " text"]) -> Float[np.ndarray, " client"]:
        return np.bincount(place, weights=counts, minlength=len(codes))

    judged, own = of_clients(correct[names[0]]), of_clients(tokens)
    others = [judged - of_clients(correct[name]) for name in names[1:]]
    said = np.stack([scale * own, judged - guess * own, *others], axis=1)
    for first in range(0, len(codes), BLOCK):
        clipped = clip_rows(said[first : first + BLOCK], clip_norm)
        squares = SQUARES / clip_norm * clipped[:, 1:] ** 2
        yield Block(codes[first : first + BLOCK], np.concatenate([clipped, squares], axis=1))


@dataclass(frozen=True)
class ReleasedCounts:
    """Noisy sums over test clients; `noise` is the standard deviation in every released coordinate."""

    names: tuple[str, ...]
    tokens: float
    sums: Float[np.ndarray, " condition"]
    squares: Float[np.ndarray, " condition"]
    guess: float
    noise: float
    clip_norm: float
    scale: float = TOKENS

    @classmethod
    def of(
        cls,
        released: Float[np.ndarray, " coordinate"],
        conditions: Sequence[str],
        *,
        guess: float,
        noise: float,
        clip_norm: float,
        scale: float = TOKENS,
    ) -> ReleasedCounts:
        """Build from the released vector.

        If the noisy token count is below the noise level, the noise level is used as the count.
        """
        names = released_order(conditions)
        width = len(names)
        if released.shape != (1 + 2 * width,):
            raise InputError(
                f"{released.size} released numbers for {width} conditions: {1 + 2 * width} are wanted",
                code="released-numbers-do-not-fit",
                value=released.size,
            )
        tokens = max(float(released[0]), noise) / scale
        squares = released[1 + width :] * clip_norm / SQUARES
        return cls(names, tokens, released[1 : 1 + width], squares, guess, noise, clip_norm, scale)

    def accuracy(self, name: str) -> dict[str, float]:
        """Return the accuracy under a condition as `estimate`, `low`, `high`."""
        weights = {self.names[0]: 1.0} | ({} if name == self.names[0] else {name: -1.0})
        return self._interval(weights, self.guess)

    def gain(self, name: str, reference: str) -> dict[str, Any]:
        """Return the accuracy under `name` less that under `reference`: `estimate`, `low`, `high`, `measurable`."""
        weights = {one: sign for one, sign in ((name, -1.0), (reference, 1.0)) if one != self.names[0]}
        found = self._interval(weights, 0.0)
        return {**found, "measurable": found["low"] > 0 or found["high"] < 0}

    def share(self, name: str, start: str = EPS0.name) -> dict[str, Any]:
        """Return the share of the gap from `start`, by default the public model, to private text that is closed.

        It is None, with a reason, if there is no gap to close.
        """
        gap = self.gain(PRIVATE.name, start)
        if gap["low"] <= 0:
            reason = "no gap to close: what training on the private text itself changes is within noise, or a loss"
            return {"share": None, "low": None, "high": None, "reason": reason}
        share = self.gain(name, start)["estimate"] / gap["estimate"]
        weights = {start: 1.0 - share, PRIVATE.name: share}  # of gain - share * gap, whose spread is the share's
        if name != self.names[0]:
            weights[name] = weights.get(name, 0.0) - 1.0
        residual = self._interval(weights, 0.0)
        half = (residual["high"] - residual["low"]) / 2 / gap["estimate"]
        return {"share": share, "low": share - half, "high": share + half, "reason": None}

    def _interval(self, weights: Mapping[str, float], offset: float) -> dict[str, float]:
        """Compute the 95% interval of `offset` + a weighted sum of coordinates over tokens.

        It covers noise and the sampling of clients. Standard deviations from sampling are added, as if a client's
        coordinates were fully correlated, so that the interval is never too narrow.
        """
        place = [self.names.index(name) for name in weights]
        own = np.asarray(list(weights.values()))
        ratio = float(own @ self.sums[place]) / self.tokens
        noise = self.noise * math.hypot(*own, ratio / self.scale)
        spread = np.sqrt(np.maximum(self.squares[place], 0) + self.noise * self.clip_norm / SQUARES)
        half = NORMAL * math.hypot(noise, float(np.abs(own) @ spread)) / self.tokens
        return {"estimate": offset + ratio, "low": offset + ratio - half, "high": offset + ratio + half}


def compare_released(released: ReleasedCounts, texts: Mapping[str, int | None], measure: PerText) -> dict[str, Any]:
    """Return the document of `paired.compare_scored`, from released sums of what `measure` counts.

    Args:
        released: The noisy sums.
        texts: Numbers of training texts by condition, where they are public.
        measure: The measure whose counts were released.
    """
    names = ordered_conditions(released.names)
    gains = {name: {one: released.gain(name, one) for one in others} for name, others in pairs(names).items()}
    closed = {name: released.share(name) for name in gap_conditions(names)} if PRIVATE.name in names else {}
    table = {name: _level(released.accuracy(name), measure) | {"texts": texts.get(name)} for name in names}
    levels = {name: released.accuracy(name)["estimate"] for name in names}
    control, judged = best_control(measure, levels), released.names[0]
    remaining = {}
    if control is not None and PRIVATE.name in names:
        remaining = {measure.name: {"control": control, **released.share(judged, control)}}
    compared = {"judged": judged, "gains": gains, "gap_closed": closed, "remaining_gap": remaining}
    return {"measures": [measure.name], "conditions": table, **compared}


def _level(found: Mapping[str, float], measure: PerText) -> dict[str, float]:
    low, level, high = (min(max(found[end], 0.0), 1.0) for end in ("low", "estimate", "high"))
    return {measure.name: level, "low": low, "high": high}


CLIP_NORM = 1.0
LINEAR, KERNEL, SPREAD, PRESENT = math.sqrt(0.36), math.sqrt(0.27), math.sqrt(0.27), math.sqrt(0.1)
BANDWIDTH = 1.0  # as `distribution.mmd_squared`
DRAWS = 200  # noise samples that estimate the effect of noise on the Frechet distance


def feature_width(dim: int, *, features: int, axes: int) -> int:
    """Return the dimension of phi for embeddings of `dim` numbers."""
    return _layout(dim, features, axes).dim


@dataclass(frozen=True)
class FeatureMap:
    """The feature map phi: axes fitted to public embeddings, random features from a public seed."""

    plane: Pca
    gain: float
    features: int
    seed: int

    @classmethod
    def of(cls, public: Float[np.ndarray, "text dim"], *, features: int, axes: int, seed: int) -> FeatureMap:
        """Fit the map; the covariance block is scaled as large as the norm on the public texts allows."""
        plane = fit_pca(public, axes)
        squared = np.square(public.astype(np.float64) @ plane.axes.T).sum(axis=1)
        return cls(plane, 1 / max(float(squared.max()), 1e-6), features, seed)

    @property
    def parts(self) -> dict[str, slice]:
        """The slice of each block."""
        return self._layout.places

    @property
    def dim(self) -> int:
        """The dimension of phi."""
        return self._layout.dim

    @property
    def _layout(self) -> Parts:
        return _layout(self.plane.axes.shape[1], self.features, len(self.plane.axes))

    def __call__(self, embeddings: Float[np.ndarray, "text dim"]) -> Float[np.ndarray, "text feature"]:
        """Compute phi of each text; each row depends on its own embedding alone."""
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
    """Yield the contribution of each test client: the mean of phi over its texts."""
    codes, place = np.unique(unit, return_inverse=True)
    first = 0
    for rows in client_mean_blocks(embeddings, place, len(codes), features=phi):
        yield Block(codes[first : first + len(rows)], rows)
        first += len(rows)


@dataclass(frozen=True)
class ReleasedMean:
    """The noisy mean of phi over test clients.

    `noise` is the standard deviation in each coordinate, `miscount` the relative error of the number of clients.
    """

    phi: FeatureMap
    mean: Float[np.ndarray, " feature"]
    noise: float
    miscount: float

    @classmethod
    def of(cls, phi: FeatureMap, total: Float[np.ndarray, " feature"], noise: float) -> ReleasedMean:
        """Build from a noisy sum of standard deviation `noise`.

        If the noisy client count is below the noise level, the noise level is used as the count.
        """
        clients = max(float(total[-1]), noise) / PRESENT
        return cls(phi, total / clients, noise / clients, noise / PRESENT / clients)

    def compare(self, texts: Float[np.ndarray, "text dim"]) -> Row:
        """Return a row as `measures.distances.compared` does, without FID: each distance, and its stddev from noise."""
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
        """Estimate the Frechet distance of public texts to themselves that noise alone causes: `mean`, `stddev`."""
        rng, known = stream(self.phi.seed, "noise of the floor"), self.phi(public).mean(axis=0)
        own = self._gaussian(known)
        draws = [known + self.noise * rng.standard_normal(len(known)) for _ in range(DRAWS)]
        distances = [_frechet(self._gaussian(draw, self.noise), own) for draw in draws]
        return {"mean": float(np.mean(distances)), "stddev": float(np.std(distances, ddof=1))}

    def _squared_distance(
        self, features: Float[np.ndarray, "text feature"], part: str, scale: float
    ) -> tuple[float, float]:
        """Return the unbiased squared distance of the means in one block, and its standard deviation from noise."""
        block, s = self.phi.parts[part], self.noise / scale
        own, theirs = features[:, block] / scale, self.mean[block] / scale
        gap, dim = own.mean(axis=0) - theirs, theirs.size
        sampled = float(own.var(axis=0, ddof=1).sum()) / len(own) if len(own) > 1 else 0.0
        found = float(gap @ gap) - dim * s**2
        scaled = 2 * self.miscount * (float(gap @ theirs) + dim * s**2)  # a wrong count scales the mean
        return found - sampled, math.sqrt(2 * dim * s**4 + 4 * s**2 * max(found, 0.0) + scaled**2)

    def _gaussian(
        self, mean: Float[np.ndarray, " feature"], noise: float = 0.0
    ) -> tuple[Float[np.ndarray, " axis"], Float[np.ndarray, "axis axis"]]:
        """Return mean and covariance on the main axes from a noisy mean of phi; variances are at least 0."""
        parts, axes = self.phi.parts, self.phi.plane.axes
        centre = axes @ (mean[parts["linear"]] / LINEAR)
        second = _square(mean[parts["spread"]] / (SPREAD * self.phi.gain), len(axes))
        # the square of a noised mean holds the noise's variance, which is known
        covariance = second - np.outer(centre, centre) + (noise / LINEAR) ** 2 * np.eye(len(axes))
        values, vectors = np.linalg.eigh(covariance)
        return centre, (vectors * np.maximum(values, 0.0)) @ vectors.T


def _layout(dim: int, features: int, axes: int) -> Parts:
    return Parts.of(linear=dim, kernel=features, spread=axes * (axes + 1) // 2, present=1)


def _triangle(z: Float[np.ndarray, "text axis"]) -> Float[np.ndarray, "text pair"]:
    """Return the upper triangle of zz', with off-diagonal entries times sqrt 2 so that the norm is the square's."""
    i, j = np.triu_indices(z.shape[1])
    rows: np.ndarray = z[:, i] * z[:, j] * np.where(i == j, 1.0, math.sqrt(2))
    return rows


def _square(triangle: Float[np.ndarray, " pair"], axes: int) -> Float[np.ndarray, "axis axis"]:
    """Return the symmetric matrix whose triangle `_triangle` returned."""
    i, j = np.triu_indices(axes)
    square = np.zeros((axes, axes))
    square[i, j] = square[j, i] = triangle / np.where(i == j, 1.0, math.sqrt(2))
    return square


def _frechet(
    a: tuple[Float[np.ndarray, " axis"], Float[np.ndarray, "axis axis"]],
    b: tuple[Float[np.ndarray, " axis"], Float[np.ndarray, "axis axis"]],
) -> float:
    """Compute the Frechet distance of two Gaussians given by mean and covariance."""
    values, vectors = np.linalg.eigh(a[1])
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    overlap = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ b[1] @ root), 0.0)).sum()
    gap = a[0] - b[0]
    return float(max(gap @ gap + np.trace(a[1]) + np.trace(b[1]) - 2 * overlap, 0.0))
