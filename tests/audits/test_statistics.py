"""The bounds on a mechanism that is known: they stay below the truth as often as they say, and come near it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from audits.statistics import Bounds, Sight, epsilon_bounds, gaussian_bound, sight, threshold_bound
from audits.worlds import Leak
from fedtext.privacy.dominating_pairs import gaussian_epsilon

DELTA = 1e-5
Worlds = tuple[list[Sight], list[Sight]]


def runs(shift: float, count: int, seed: int, *, noise: float = 1.0, rounds: int = 2, dim: int = 10) -> Worlds:
    """Runs of a Gaussian mechanism that was priced at noise 1, whose worlds are `shift` apart, all rounds together."""
    rng = np.random.default_rng(seed)
    nowhere = np.zeros(dim)
    there = np.full(dim, shift / np.sqrt(dim * rounds))

    def one(real: int) -> Sight:
        released = [(nowhere, there)[real] + noise * rng.standard_normal(dim) for _ in range(rounds)]
        return sight([Leak(value, (nowhere, there), is_step=True) for value in released], real)

    return [one(0) for _ in range(count)], [one(1) for _ in range(count)]


def test_a_run_is_seen_as_it_was() -> None:
    leaks = [
        Leak(np.array([3.0, 1.0]), (np.zeros(2), np.array([2.0, 0.0]))),
        Leak(np.ones(1), (np.ones(1), np.ones(1))),
    ]
    seen = sight(leaks, real=1)
    assert seen.score == pytest.approx((3.0 - 1.0) * 2.0)
    assert seen.distance == pytest.approx(2.0)
    assert seen.along == pytest.approx([1.0])
    assert seen.everywhere == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("shift", [0.27, 1.0, 4.0])
def test_no_bound_passes_the_truth_and_the_best_comes_near_it(shift: float) -> None:
    truth = gaussian_epsilon(shift, DELTA)
    bounds = epsilon_bounds(runs(shift, 400, seed=1), delta=DELTA)
    assert bounds.best == max(bounds) < truth
    assert bounds.everywhere > 0.95 * truth
    assert bounds.along > 0.85 * truth
    assert bounds.together > 0.9 * truth


def test_the_bound_that_assumes_nothing_sees_what_is_plain_to_see() -> None:
    assert epsilon_bounds(runs(4.0, 400, seed=1), delta=DELTA).threshold > 2.0
    assert epsilon_bounds(runs(0.0, 400, seed=1), delta=DELTA) == Bounds(0.0, 0.0, 0.0)


@pytest.mark.parametrize("shift", [0.27, 4.0])
def test_15_percent_too_little_noise_passes_the_claim(shift: float) -> None:
    claim = gaussian_epsilon(shift, DELTA)
    bounds = epsilon_bounds(runs(shift, 400, seed=2, noise=0.85), delta=DELTA)
    assert bounds.along > claim
    assert bounds.everywhere > claim


def test_without_noise_the_bound_is_infinite() -> None:
    quiet = [np.zeros(3), np.zeros(2)]
    assert gaussian_bound(1.0, quiet, delta=DELTA, alpha=0.1) == np.inf


def test_noise_is_measured_in_what_was_charged() -> None:
    plain, tenfold = (
        sight([Leak(np.array([3.0]) * by, (np.zeros(1), np.array([2.0]) * by), by)], real=1) for by in (1.0, 10.0)
    )
    assert plain.score == pytest.approx(tenfold.score)
    assert plain.distance == pytest.approx(tenfold.distance)


def test_noise_that_steps_share_shows_when_they_are_held_together() -> None:
    """Each step alone has all the noise that was charged; their difference has none."""
    rng, nowhere, there = np.random.default_rng(0), np.zeros(10), np.full(10, 0.05)

    def one(real: int) -> Sight:
        noise = rng.standard_normal(10)
        return sight([Leak(noise + x[real], x, is_step=True) for x in ((nowhere, there), (nowhere, nowhere))], real)

    bounds = epsilon_bounds(([one(0) for _ in range(100)], [one(1) for _ in range(100)]), delta=DELTA)
    claim = gaussian_epsilon(float(np.linalg.norm(there)), DELTA)
    assert max(bounds.threshold, bounds.along, bounds.everywhere) < claim < bounds.together


def rejected(share: int, of: int, level: float) -> bool:
    """Whether a bound that is wrong with probability `level` would be wrong so often once in a thousand times."""
    return bool(stats.binom.sf(share - 1, of, level) < 1e-3)


def test_each_bound_is_wrong_no_more_often_than_it_says() -> None:
    """At alpha 0.4 each has 0.1; with noise that is a tenth too small those that see it would be wrong far more often."""
    shift, repeats = 1.5, 100
    truth = gaussian_epsilon(shift, DELTA)

    def wrong(noise: float) -> list[int]:
        found = [epsilon_bounds(runs(shift, 60, seed, noise=noise), delta=DELTA, alpha=0.4) for seed in range(repeats)]
        return (np.array(found) > truth).sum(axis=0).tolist()

    assert not any(rejected(share, repeats, 0.1) for share in wrong(1.0))
    assert [rejected(share, repeats, 0.1) for share in wrong(0.9)] == [
        False,
        True,
        True,
        True,
    ]  # 60 runs tell a threshold little


def test_the_threshold_is_judged_on_runs_that_did_not_choose_it() -> None:
    """Scores of one distribution: chosen and measured on the same runs, the bound would be above zero by chance."""
    rng = np.random.default_rng(0)
    drawn = [threshold_bound((rng.normal(size=60), rng.normal(size=60)), delta=0.0, alpha=0.3) for _ in range(100)]
    assert not rejected(sum(bound > 0 for bound in drawn), 100, 0.3)
