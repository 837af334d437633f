"""Audits of the strong silos' DP-SGD: what each silo's own steps hide stays hidden, and every planted fault is seen.

Two silos train side by side, each by six steps of its own in three rounds of two. One holds canaries, each with a
coordinate of its own, there by a fair coin, and sends ten times the clip norm. The other holds as many records that say
nothing, so that what it gives out is its noise. The auditor sees every step of both silos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from audits.faults import one_noise, shared_among_silos, unclipped
from audits.statistics import threshold_bound
from fedtext.algorithms.flexible.plan import dp_sgd_queries
from fedtext.federation import noisy_steps as module
from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.noisy_steps import NoisyStep, release_joint_noisy_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.silos import parties_of
from fedtext.federation.units import Block, unit_codes
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

CANARIES, RATE, ROUNDS, LOCAL_STEPS, MULTIPLIER, CLIP_NORM, DELTA = 900, 0.5, 3, 2, 2.5, 0.5, 1e-3
TOLD, QUIET = "told", "quiet"
SURE = 1e-6
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Seen(NamedTuple):
    """Who was there, each coordinate's steps in clip norms of either silo, the claimed epsilon, and sizes of draws."""

    present: np.ndarray
    told: np.ndarray
    quiet: np.ndarray
    claim: float
    sizes: list[int]


def attack(seed: int = 0) -> Seen:
    """What the auditor sees, and how many records each silo drew for each step, which nobody does."""
    present = np.random.default_rng(seed).integers(0, 2, CANARIES).astype(bool)
    changes = {"epsilon": 8.0, "delta": DELTA, "noise_seed": seed, "noise_multiplier": MULTIPLIER, "unit": "record"}
    privacy = conf_base(Privacy, changes)
    parties = parties_of({TOLD: CANARIES, QUIET: CANARIES}, conf_base(Silos, strong=1.0), privacy.epsilon)
    training = {"rounds": ROUNDS, "local_steps": LOCAL_STEPS, "batch_size": int(RATE * CANARIES)}
    params = conf_base(Flexible, training={**training, "clip_norm": CLIP_NORM})
    queries = dp_sgd_queries(params, privacy, parties, dim=CANARIES)
    units = np.arange(2 * CANARIES)
    holder = np.repeat(unit_codes([TOLD, QUIET]), CANARIES)
    samples = PrivateSamples.of_one_class(np.zeros((2 * CANARIES, 1)), units, holder)

    sizes: list[int] = []

    def sent(held: PrivateSamples) -> Iterator[Block]:
        sizes.append(len(held.unit))
        rows = np.zeros((len(held.unit), CANARIES))
        own = held.unit < CANARIES
        rows[np.flatnonzero(own), held.unit[own]] = 10 * CLIP_NORM * present[held.unit[own]]
        yield Block(held.unit, rows)

    def asked(asks: Sequence[NoisyStep]) -> np.ndarray:
        return np.array([[ask(sent, "public") for ask in asks] for _ in range(ROUNDS * LOCAL_STEPS)])

    opened = opened_ledger(queries, privacy, 2 * CANARIES, parties=parties)
    seen, ledger = release_joint_noisy_steps(queries, asked, samples, opened, new_noise_key(seed))
    quiet, told = np.moveaxis(seen, 0, 2) / CLIP_NORM  # by name
    return Seen(present, told, quiet, ledger.epsilon(), sizes)


def likelihood(told: np.ndarray, quiet: np.ndarray) -> np.ndarray:
    """Log likelihood ratio of every canary over its silo's steps: there, and drawn or not, or not there."""
    there, away = stats.norm.pdf(told, 1, MULTIPLIER), stats.norm.pdf(told, 0, MULTIPLIER)
    return np.asarray(np.log(np.maximum(RATE * there / away + 1 - RATE, 1e-300)).sum(axis=1))


def beside_the_other_silo(told: np.ndarray, quiet: np.ndarray) -> np.ndarray:
    """The largest difference of the silos in one step: tells nothing where each has noise of its own."""
    return np.asarray((told - quiet).max(axis=1))


def across_rounds(told: np.ndarray, quiet: np.ndarray) -> np.ndarray:
    """How far the same local step of two rounds lies apart."""
    return np.asarray(np.ptp(told.reshape(CANARIES, ROUNDS, LOCAL_STEPS), axis=1).max(axis=1))


def across_steps(told: np.ndarray, quiet: np.ndarray) -> np.ndarray:
    """How far the steps of one round lie apart."""
    return np.asarray(np.ptp(told.reshape(CANARIES, ROUNDS, LOCAL_STEPS), axis=2).max(axis=1))


def bound(score: Score) -> tuple[float, float]:
    """The lower bound on epsilon by a score, and the claim."""
    present, told, quiet, claim, _ = attack()
    scores = score(told, quiet)
    return threshold_bound((scores[~present], scores[present]), delta=DELTA, alpha=SURE), claim


def noise_is_as_charged() -> bool:
    """Whether what either silo gives out without a canary is as loud as was charged, or louder."""
    present, told, quiet, *_ = attack()
    noise = np.concatenate([told[~present].ravel(), quiet.ravel()]) / MULTIPLIER
    return bool(stats.chi2.cdf(noise @ noise, len(noise)) > SURE)


def draws_are_poisson() -> bool:
    """Whether the sizes of the silos' draws are as dispersed as those of independent coins."""
    sizes = np.array([size for seed in range(3) for size in attack(seed).sizes])
    dispersion = ((sizes - RATE * CANARIES) ** 2).sum() / (CANARIES * RATE * (1 - RATE))
    return bool(1e-4 < stats.chi2.cdf(dispersion, len(sizes)) < 1 - 1e-4)


@pytest.mark.parametrize("score", [likelihood, beside_the_other_silo, across_rounds, across_steps])
def test_the_claim_survives(score: Score) -> None:
    found, claim = bound(score)
    assert found <= claim


def test_the_noise_of_every_silo_is_all_that_was_charged() -> None:
    assert noise_is_as_charged()


def test_without_the_clip_the_claim_falls() -> None:
    with unclipped():
        found, claim = bound(likelihood)
    assert found > claim


def test_batches_of_a_fixed_size_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would cost more than Poisson draws are charged (tests/audits/test_noisy_steps.py)."""
    assert draws_are_poisson()
    drawn = np.random.default_rng(0)

    def fixed(samples: PrivateSamples, *_: Any) -> np.ndarray:
        return np.sort(drawn.choice(samples.enrolled, int(RATE * CANARIES), replace=False))

    monkeypatch.setattr(module, "sampled_units", fixed)
    assert not draws_are_poisson()


def test_noise_over_the_root_of_the_number_of_silos_is_seen() -> None:
    """As if silos added shares of one noise: their steps are seen one by one, not in a sum."""
    with shared_among_silos():
        assert not noise_is_as_charged()


def test_noise_that_silos_share_cancels() -> None:
    with one_noise(lambda silo, step: f"step {step}"):
        found, claim = bound(beside_the_other_silo)
    assert found > claim


def test_noise_that_rounds_share_cancels() -> None:
    with one_noise(lambda silo, step: f"{silo}, local step {step % LOCAL_STEPS}"):
        found, claim = bound(across_rounds)
    assert found > claim


def test_noise_that_the_steps_of_a_round_share_cancels() -> None:
    with one_noise(lambda silo, step: f"{silo}, round {step // LOCAL_STEPS}"):
        found, claim = bound(across_steps)
    assert found > claim
