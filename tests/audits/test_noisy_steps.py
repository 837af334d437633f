"""Audits of DP-SGD's door: what it is claims to hide stays hidden, and every planted fault is seen.

Every canary is a unit with a coordinate of its own, which is there by a fair coin and sends ten times the clip norm.
The auditor sees all steps and tells from its coordinate whether a canary was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest
from scipy import stats

from audits.faults import too_little_noise, unclipped
from audits.statistics import threshold_bound
from fedtext.federation import charged_release
from fedtext.federation import noisy_steps as module
from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.noisy_steps import NoisyStep, release_noisy_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import Block
from fedtext.params.privacy import Privacy, Sampling
from fedtext.privacy.accounting import epsilon
from fedtext.privacy.noise import NoiseKey, discrete_gaussian, new_noise_key
from tests.parameters import conf_base

CANARIES, RATE, STEPS, MULTIPLIER, CLIP_NORM, DELTA = 600, 0.5, 6, 2.5, 0.5, 1e-3
SURE = 1e-6


def attack(seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[int], float]:
    """Who was there, each one's coordinate of all steps in clip norms, sizes of the draws, and the claimed epsilon."""
    present = np.random.default_rng(seed).integers(0, 2, CANARIES).astype(bool)
    privacy = conf_base(Privacy, epsilon=8.0, delta=DELTA, noise_seed=seed, noise_multiplier=MULTIPLIER, unit="record")
    batch = int(RATE * CANARIES)
    query = Query("audit", 0, CANARIES, CLIP_NORM, MULTIPLIER, batch=batch, steps=STEPS)
    sizes: list[int] = []

    def sent(held: PrivateSamples) -> Iterator[Block]:
        sizes.append(len(held.unit))
        rows = np.zeros((len(held.unit), CANARIES))
        rows[np.arange(len(rows)), held.unit] = 10 * CLIP_NORM * present[held.unit]
        yield Block(held.unit, rows)

    def training(ask: NoisyStep) -> np.ndarray:
        return np.array([ask(sent, "public") for _ in range(STEPS)])

    everybody = PrivateSamples.of_one_class(present[:, None], np.arange(CANARIES))
    opened = opened_ledger([query], privacy, CANARIES)
    seen, ledger = release_noisy_steps(query, training, everybody, opened, new_noise_key(seed))
    return present, seen.T / CLIP_NORM, sizes, ledger.epsilon()


def likelihood(seen: np.ndarray) -> np.ndarray:
    """Log likelihood ratio of every canary over its steps: there, and drawn or not, or not there."""
    there = stats.norm.pdf(seen, 1, MULTIPLIER), stats.norm.pdf(seen, 0, MULTIPLIER)
    return np.asarray(np.log(np.maximum(RATE * there[0] / there[1] + 1 - RATE, 1e-300)).sum(axis=1))


def spread(seen: np.ndarray) -> np.ndarray:
    """How far a canary's steps lie apart: tells nothing where every step has noise of its own."""
    return np.asarray(np.ptp(seen, axis=1))


def bound(score: Any, seed: int = 0) -> tuple[float, float]:
    """The lower bound on epsilon by a score, and the claim."""
    present, seen, _, claim = attack(seed)
    scores = score(seen)
    return threshold_bound((scores[~present], scores[present]), delta=DELTA, alpha=SURE), claim


def noise_is_as_charged(seed: int = 0) -> bool:
    """Whether the coordinates of canaries that were not there are as loud as was charged, or louder."""
    present, seen, *_ = attack(seed)
    noise = seen[~present].ravel() / MULTIPLIER
    return bool(stats.chi2.cdf(noise @ noise, len(noise)) > SURE)


def draws_are_poisson(seed: int = 0) -> bool:
    """Whether the sizes of many draws are as dispersed as those of independent coins."""
    sizes = np.array([size for run in range(seed, seed + 5) for size in attack(run)[2]])
    dispersion = ((sizes - RATE * CANARIES) ** 2).sum() / (CANARIES * RATE * (1 - RATE))
    return bool(1e-4 < stats.chi2.cdf(dispersion, len(sizes)) < 1 - 1e-4)


def test_the_door_passes_every_audit() -> None:
    for score in (likelihood, spread):
        found, claim = bound(score)
        assert found <= claim
    assert noise_is_as_charged()
    assert draws_are_poisson()


def test_without_the_clip_the_claim_falls() -> None:
    with unclipped():
        found, claim = bound(likelihood)
    assert found > claim


def test_noise_that_is_too_small_by_15_percent_is_seen() -> None:
    with too_little_noise():
        assert not noise_is_as_charged()


def test_noise_that_steps_share_cancels_and_the_claim_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    def shared(key: NoiseKey, *, stddev_on_grid: float, size: int, stream: tuple[str, ...]) -> np.ndarray:
        return discrete_gaussian(key, stddev_on_grid=stddev_on_grid, size=size, stream=("shared",))

    monkeypatch.setattr(charged_release, "discrete_gaussian", shared)
    found, claim = bound(spread)
    assert found > claim


def test_batches_of_a_fixed_size_are_seen_and_would_cost_more_than_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.random.default_rng(0)

    def fixed(samples: PrivateSamples, *_: Any) -> np.ndarray:
        return np.sort(drawn.choice(samples.enrolled, int(RATE * CANARIES), replace=False))

    poisson, fixed_size = (
        epsilon(noise_multiplier=MULTIPLIER, delta=1e-6, rounds=STEPS, rate=0.05, sampling=sampling)
        for sampling in get_args(Sampling)[1:]
    )
    assert fixed_size > 1.1 * poisson
    monkeypatch.setattr(module, "sampled_units", fixed)
    assert not draws_are_poisson()
