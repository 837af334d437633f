"""Lower bounds on epsilon from what an attack observed, each wrong with a stated probability.

There are four, of which the best counts.

- `threshold` assumes nothing: a threshold on the log likelihood ratio, chosen on one half of the runs, and
  Clopper-Pearson intervals for its errors on the other half. It cannot exceed about the logarithm of the runs.
- `along` assumes that noise is Gaussian. Its standard deviation is measured along the line between the expected outputs
  of the two worlds. Their distance divided by it is the shift of a Gaussian mechanism, whose epsilon is exact.
- `everywhere` assumes in addition that noise has the same variance in all coordinates, so that some runs give its
  deviation to a percent. 15% too little noise shows at any epsilon.
- `together` uses the steps of a training alone, of which there are many of one size. It estimates the covariance of
  their noise, and weighs them by it: noise that two steps share cancels in their difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from audits.worlds import Leak
from fedtext.privacy.dominating_pairs import gaussian_epsilon

ALPHA = 1e-3
NO_STEPS = (np.empty((0, 0)), np.empty((0, 0)))
ALIKE = 1e-9  # of the largest variance: below it noise cancels, and no more is asked how exactly


class Sight(NamedTuple):
    """The auditor's observation of one run.

    Attributes:
        score: How much nearer the transcript is to what is expected of world 1 than of world 0, all in deviations of
            the recorded noise: the log likelihood ratio.
        distance: Distance between the expected outputs of the two worlds, all releases together.
        along: Noise of each release, along the line between the two worlds.
        everywhere: Noise in each coordinate that has any.
        steps: Noise of a training's steps (step, coordinate), and the difference of the two worlds in each.
    """

    score: float
    distance: float
    along: np.ndarray
    everywhere: np.ndarray
    steps: tuple[np.ndarray, np.ndarray]


class Bounds(NamedTuple):
    """Lower bounds on epsilon, together wrong with the stated probability."""

    threshold: float
    along: float
    everywhere: float
    together: float = 0.0

    @property
    def best(self) -> float:
        """The largest bound."""
        return max(self)


def sight(leaks: Sequence[Leak], real: int) -> Sight:
    """Compute the auditor's observation of a run of world `real`."""
    score, squared, along, everywhere, steps = 0.0, 0.0, [], [np.empty(0)], []
    for released, expected, stddev, is_step in leaks:
        noise, difference = (released - expected[real]) / stddev, (expected[1] - expected[0]) / stddev
        everywhere.append(noise[noise != 0])
        if is_step:
            steps.append((noise, difference))
        length = float(np.linalg.norm(difference))
        if length:
            score += float((noise + (expected[real] - (expected[0] + expected[1]) / 2) / stddev) @ difference)
            squared += length**2
            along.append(float(noise @ difference) / length)
    noises, differences = (np.array(part) for part in zip(*steps, strict=True)) if steps else NO_STEPS
    return Sight(score, math.sqrt(squared), np.array(along), np.concatenate(everywhere), (noises, differences))


def epsilon_bounds(worlds: tuple[Sequence[Sight], Sequence[Sight]], *, delta: float, alpha: float = ALPHA) -> Bounds:
    """Compute bounds from runs of world 0 and of world 1, together wrong with probability at most `alpha`."""
    scores, runs = [np.array([one.score for one in world]) for world in worlds], [*worlds[0], *worlds[1]]
    nearest = min(one.distance for one in runs)  # where it depends on what was released before
    return Bounds(
        threshold_bound((scores[0], scores[1]), delta=delta, alpha=alpha / 4),
        gaussian_bound(nearest, (one.along for one in runs), delta=delta, alpha=alpha / 4),
        gaussian_bound(nearest, (one.everywhere for one in runs), delta=delta, alpha=alpha / 4),
        together_bound([one.steps for one in runs], delta=delta, alpha=alpha / 4),
    )


def threshold_bound(scores: tuple[np.ndarray, np.ndarray], *, delta: float, alpha: float) -> float:
    """Compute a bound on epsilon, wrong with probability at most `alpha`, from scores of runs of both worlds.

    (epsilon, delta) privacy means P1(S) <= e^epsilon P0(S) + delta for every event S, and the same with the worlds
    exchanged. The first half of the runs chooses S among all half-lines, the second half measures it.
    """
    best, measured = -math.inf, 0.0
    for likely, other in (scores, scores[::-1]):
        for sign in (1.0, -1.0):
            (first, fresh), (others, fresh_others) = (_halves(sign * world) for world in (likely, other))
            edges = np.unique(np.concatenate([first, others]))
            promised = _bounds_at(edges, first, others, delta, alpha)
            at = int(promised.argmax())
            if promised[at] > best:
                best, measured = (
                    promised[at],
                    float(_bounds_at(edges[at : at + 1], fresh, fresh_others, delta, alpha)[0]),
                )
    return max(0.0, measured)


def _halves(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the second half, each sorted."""
    return np.sort(scores[: len(scores) // 2]), np.sort(scores[len(scores) // 2 :])


def _bounds_at(edges: np.ndarray, likely: np.ndarray, other: np.ndarray, delta: float, alpha: float) -> np.ndarray:
    """Return log((p - delta) / q) of `score >= edge`, for the least p and largest q that the hits allow."""
    seen, mistaken = (len(world) - np.searchsorted(world, edges) for world in (likely, other))
    least = np.where(seen > 0, stats.beta.ppf(alpha / 2, np.maximum(seen, 1), len(likely) - seen + 1), 0.0)
    misses = len(other) - mistaken
    most = np.where(misses > 0, stats.beta.ppf(1 - alpha / 2, mistaken + 1, np.maximum(misses, 1)), 1.0)
    return np.asarray(np.log(np.maximum(least - delta, 1e-300) / most))


def gaussian_bound(distance: float, noise: Iterable[np.ndarray], *, delta: float, alpha: float) -> float:
    """Compute a bound on epsilon of worlds `distance` apart, wrong with probability at most `alpha` for Gaussian noise.

    The deviation of the noise is at most what its squares allow (chi square, about the known mean of zero).
    """
    squares, count = 0.0, 0
    for drawn in noise:
        squares, count = squares + float(drawn @ drawn), count + len(drawn)
    if not count or not distance:
        return 0.0
    deviation = math.sqrt(squares / float(stats.chi2.ppf(alpha, count)))
    return gaussian_epsilon(distance / deviation, delta) if deviation else math.inf


def together_bound(runs: Sequence[tuple[np.ndarray, np.ndarray]], *, delta: float, alpha: float) -> float:
    """Compute a bound on epsilon from a training's steps, wrong with probability at most `alpha` for Gaussian noise.

    Noise is taken to be alike in all coordinates and runs, and to vary between steps as it may: of n columns of noise S
    is the mean square, and the true one is at most S / (1 - sqrt(steps / n) - sqrt(2 log(1 / alpha) / n))^2 (Davidson
    and Szarek, Theorem II.13). Worlds lie apart by their distance in units of it.

    Args:
        runs: Noise (step, coordinate) of each, and the difference of the worlds.
        delta: As declared.
        alpha: The probability.
    """
    noise = np.concatenate([one for one, _ in runs], axis=1)
    steps, columns = noise.shape
    sure = 1 - (math.sqrt(steps) + math.sqrt(2 * math.log(1 / alpha))) / math.sqrt(max(columns, 1))
    if not steps or sure <= 0:
        return 0.0
    variance, axes = np.linalg.eigh(noise @ noise.T / columns)
    least = np.maximum(variance, ALIKE * variance.max())[:, None]
    nearest = min(math.sqrt(((axes.T @ difference) ** 2 / least).sum()) for _, difference in runs)
    return gaussian_epsilon(sure * nearest, delta) if nearest else 0.0
