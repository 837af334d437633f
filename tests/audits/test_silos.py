"""Audits of the strong silos' DP-SGD: what each silo's own steps hide stays hidden, and every planted fault is seen.

Two silos train side by side, each by six steps of its own in three rounds of two. One holds canaries, each with a
coordinate of its own, there by a fair coin, and sends ten times the clip norm. The other holds as many records that say
nothing, so that what it gives out is its noise. The auditor sees every step of both silos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from scipy import stats

from audits.faults import too_little_noise, unclipped
from audits.statistics import threshold_bound
from fedtext.algorithms.flexible.budget import dp_sgd_queries
from fedtext.federation import noised_steps as module
from fedtext.federation.blocks import Block
from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.noised_steps import Ask, steps_of_several
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.silos import parties_of
from fedtext.federation.units import unit_codes
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.privacy.noise import NoiseKey, discrete_gaussian, new_noise_key
from tests.parameters import conf_base

CANARIES, RATE, ROUNDS, LOCAL_STEPS, MULTIPLIER, CLIP_NORM, DELTA = 500, 0.5, 3, 2, 2.5, 0.5, 1e-3
TOLD, QUIET = "told", "quiet"
SURE = 1e-6
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


def attack(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Who was there, each coordinate's steps in clip norms of either silo, and the claimed epsilon."""
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

    def sent(held: PrivateSamples) -> Iterator[Block]:
        rows = np.zeros((len(held.unit), CANARIES))
        own = held.unit < CANARIES
        rows[np.flatnonzero(own), held.unit[own]] = 10 * CLIP_NORM * present[held.unit[own]]
        yield Block(held.unit, rows)

    def asked(asks: Sequence[Ask]) -> np.ndarray:
        return np.array([[ask(sent, "public") for ask in asks] for _ in range(ROUNDS * LOCAL_STEPS)])

    opened = opened_ledger(queries, privacy, 2 * CANARIES, parties=parties)
    seen, ledger = steps_of_several(queries, asked, samples, opened, new_noise_key(seed))
    quiet, told = np.moveaxis(seen, 0, 2) / CLIP_NORM  # by name
    return present, told, quiet, ledger.epsilon()


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
    present, told, quiet, claim = attack()
    scores = score(told, quiet)
    return threshold_bound((scores[~present], scores[present]), delta=DELTA, alpha=SURE), claim


def noise_is_as_charged() -> bool:
    """Whether what either silo gives out without a canary is as loud as was charged, or louder."""
    present, told, quiet, _ = attack()
    noise = np.concatenate([told[~present].ravel(), quiet.ravel()]) / MULTIPLIER
    return bool(stats.chi2.cdf(noise @ noise, len(noise)) > SURE)


def sharing(monkeypatch: pytest.MonkeyPatch, named: Callable[[str, int], str]) -> None:
    """Noise by a name of the silo and the step (from 0), and of nothing else."""

    def shared(key: NoiseKey, *, stddev_on_grid: float, size: int, stream: tuple[str, ...]) -> np.ndarray:
        silo = TOLD if TOLD in stream[0] else QUIET
        name = named(silo, int(stream[2].removeprefix("step ")) - 1)
        return discrete_gaussian(key, stddev_on_grid=stddev_on_grid, size=size, stream=(name,))

    monkeypatch.setattr(module, "discrete_gaussian", shared)


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


def test_noise_over_the_root_of_the_number_of_silos_is_seen() -> None:
    """As if silos added shares of one noise: their steps are seen one by one, not in a sum."""
    with too_little_noise(1 / np.sqrt(2)):
        assert not noise_is_as_charged()


def test_noise_that_silos_share_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    sharing(monkeypatch, lambda silo, step: f"step {step}")
    found, claim = bound(beside_the_other_silo)
    assert found > claim


def test_noise_that_rounds_share_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    sharing(monkeypatch, lambda silo, step: f"{silo}, local step {step % LOCAL_STEPS}")
    found, claim = bound(across_rounds)
    assert found > claim


def test_noise_that_the_steps_of_a_round_share_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    sharing(monkeypatch, lambda silo, step: f"{silo}, round {step // LOCAL_STEPS}")
    found, claim = bound(across_steps)
    assert found > claim
