"""An audit in one run: canaries try to be seen in the released sum; the real mechanism hides them, broken ones do not.

Every canary is a client with its own coordinate that joins on a fair coin's toss and sends ten times the allowed norm.
The auditor knows all but the coins and guesses each from the release. Two bounds on how often it may be right:

- a multiplier s makes each guess right with probability at most Phi(1 / 2s) (Dong, Roth and Su 2022), and here the
  guesses are independent, so their number is binomial;
- any (epsilon, delta)-DP mechanism lets no more than a binomial with probability e^epsilon / (1 + e^epsilon) of the
  guesses made be right, but for delta (Steinke, Nasr and Jagielski, NeurIPS 2023, Theorem 5.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy import stats

from fedtext.federation import charged_release, mechanism
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Block
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import discrete_gaussian, new_noise_key
from tests.parameters import conf_base

CANARIES, MULTIPLIER, CLIP_NORM = 2000, 2.0, 0.5
EPSILON = 2.4  # more than the exact 2.254 at delta 1e-6 of one release at multiplier 2
SURE = 1e-6


def attack(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Which canaries were there, and each one's coordinate of the release in units of the clip norm."""
    present = np.random.default_rng(seed).integers(0, 2, CANARIES).astype(bool)

    def blocks_of(held: PrivateSamples) -> Iterator[Block]:
        for start in range(0, CANARIES, 250):
            block = np.zeros((250, CANARIES))
            rows = np.arange(250)
            block[rows, start + rows] = 10 * CLIP_NORM * present[start + rows]
            yield Block(start + rows, block)

    declaration = conf_base(Privacy, epsilon=8.0, delta=1e-6, noise_seed=seed)
    everybody = PrivateSamples.of_one_class(present[:, None], np.arange(CANARIES))
    query = Query("audit", seed, CANARIES, CLIP_NORM, MULTIPLIER)
    opened = Ledger(declaration=declaration, population=CANARIES)
    total, _ = release_noisy_sum(query, blocks_of, everybody, opened, new_noise_key(seed))
    return present, total / CLIP_NORM


def passes_gaussian_audit(present: np.ndarray, seen: np.ndarray) -> bool:
    """Whether so many right guesses are plausible under the multiplier that was charged."""
    right = int(((seen > 0.5) == present).sum())
    return bool(stats.binom.sf(right - 1, CANARIES, stats.norm.cdf(1 / (2 * MULTIPLIER))) > SURE)


def audited_epsilon(present: np.ndarray, seen: np.ndarray, guesses: int = 400) -> float:
    """Lower bound on epsilon, wrong with probability `SURE`: the surest half of the guesses on either side."""
    order = np.argsort(seen)
    right = int((~present[order[: guesses // 2]]).sum() + present[order[-guesses // 2 :]].sum())
    grid = np.linspace(0, 10, 2001)
    plausible = stats.binom.sf(right - 1, guesses, 1 / (1 + np.exp(-grid))) > SURE
    return float(grid[plausible][0])


@pytest.mark.parametrize("seed", range(5))
def test_the_mechanism_passes_both_audits(seed: int) -> None:
    present, seen = attack(seed)
    assert passes_gaussian_audit(present, seen)
    assert audited_epsilon(present, seen) < EPSILON


def test_the_audit_has_power_because_the_canaries_are_seen_at_all() -> None:
    present, seen = attack()
    right = int(((seen > 0.5) == present).sum())
    assert stats.binom.sf(right - 1, CANARIES, 0.5) < SURE
    assert audited_epsilon(present, seen) > 0


def scaled_noise(share: float) -> Callable[..., np.ndarray]:
    def drawn(*args: object, **keywords: object) -> np.ndarray:
        return np.rint(share * discrete_gaussian(*args, **keywords)).astype(np.int64)  # type: ignore[arg-type]

    return drawn


def test_without_the_clip_both_audits_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "clip_rows", lambda rows, clip_norm: rows)
    present, seen = attack()
    assert not passes_gaussian_audit(present, seen)
    assert audited_epsilon(present, seen) > EPSILON


def test_without_noise_both_audits_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charged_release, "discrete_gaussian", scaled_noise(0.0))
    present, seen = attack()
    assert not passes_gaussian_audit(present, seen)
    assert audited_epsilon(present, seen) > EPSILON


@pytest.mark.parametrize("seed", range(3))
def test_with_half_the_noise_the_gaussian_audit_fails(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(charged_release, "discrete_gaussian", scaled_noise(0.5))
    assert not passes_gaussian_audit(*attack(seed))


def test_with_the_noise_of_another_unit_the_gaussian_audit_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise scaled to the step or the clip norm once too often, the classical slip of units."""
    monkeypatch.setattr(charged_release, "discrete_gaussian", scaled_noise(CLIP_NORM))
    assert not passes_gaussian_audit(*attack())
