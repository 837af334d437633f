"""The membership attack on published text: it finds what was copied, and nothing where nothing can be."""

from __future__ import annotations

import numpy as np
import pytest

from audits.canaries import (
    CANARIES,
    COPIES,
    DELTA,
    by_trigrams,
    canary_attack,
    canary_records,
    guessed,
    implied_epsilon,
)
from audits.corpus import CLIENTS, SHARES
from fedtext.corpora.splits import splits_of


def test_every_canary_would_be_trained_on() -> None:
    canaries = canary_records()
    assert len(canaries) == canaries["text"].nunique() == CANARIES
    assert set(splits_of(canaries["client_id"], **SHARES, seed=0).values()) == {"train"}
    assert 1 / (CLIENTS + CANARIES) > DELTA


def test_text_that_copies_is_caught() -> None:
    for signal, found in canary_attack(COPIES, runs=2).items():
        assert found.low > 0.9, signal
        assert found.epsilon > 1.5, signal


def test_trigrams_prefer_what_was_written() -> None:
    scores = by_trigrams(["zinqua tholplex", "morvskle ubba"], ["a zinqua tholplex b"], ["the ferry sailed"])
    assert scores[0] > scores[1] + 1


def coins(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((6, CANARIES)) < 0.5


def test_guesses_at_random_bound_nothing() -> None:
    thrown = coins(0)
    found = guessed(np.random.default_rng(1).normal(size=thrown.shape), thrown, delta=DELTA, alpha=1e-3)
    assert found.low < 0.5 < found.high
    assert found.epsilon == 0


@pytest.mark.parametrize("epsilon", [0.5, 1.5])
def test_the_bound_of_answers_at_random_is_below_their_epsilon(epsilon: float) -> None:
    """Each coin is told rightly with probability e^epsilon / (1 + e^epsilon): the worst that epsilon allows."""
    rng = np.random.default_rng(2)
    found = []
    for seed in range(100):
        thrown = coins(seed)
        told = thrown ^ (rng.random(thrown.shape) > 1 / (1 + np.exp(-epsilon)))
        found.append(implied_epsilon(told + 0.1 * rng.random(thrown.shape), thrown, delta=0.0, alpha=0.05))
    assert sum(bound > epsilon for bound in found) <= 12  # of 100 at 0.05
    assert np.mean(found) > epsilon / 3


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["popri", "pe"])
def test_synthetic_text_gives_no_canary_away(algorithm: str) -> None:
    for found in canary_attack(algorithm, runs=6).values():
        assert found.epsilon <= 1.0
