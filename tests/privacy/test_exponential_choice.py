"""A choice by the exponential mechanism: exact frequencies, bound to its stream, the same bytes everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fedtext.privacy import noise
from fedtext.privacy.noise import exponential_choice, new_noise_key
from tests.refusals import refuses

KEY = new_noise_key(3)
SCORES = np.array([0, 700, 1000, -500, 2000], dtype=np.int64)


def drawn(scores: np.ndarray, scale: float, count: int) -> np.ndarray:
    return np.array([exponential_choice(KEY, scores, scale=scale, stream=(str(n),)) for n in range(count)])


def test_choices_are_as_frequent_as_the_mechanism_says_and_not_as_another_says() -> None:
    counts = np.bincount(drawn(SCORES, 900.0, 6000), minlength=len(SCORES))
    weights = np.exp(SCORES / 900.0)
    assert stats.chisquare(counts, 6000 * weights / weights.sum()).pvalue > 1e-4
    colder = np.exp(SCORES / 800.0)
    assert stats.chisquare(counts, 6000 * colder / colder.sum()).pvalue < 1e-6


def test_a_doubt_is_settled_by_further_bits_without_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a margin as wide as all, every proposal is decided by exact arithmetic, and the choices stay."""
    fast = drawn(SCORES, 900.0, 60)
    monkeypatch.setattr(noise, "_MARGIN", 2.0)
    assert np.array_equal(drawn(SCORES, 900.0, 60), fast)


def test_scores_as_far_apart_as_integers_go_leave_one_choice() -> None:
    far = np.array([-(2**62), 2**62, -(2**63)], dtype=np.int64)
    assert set(drawn(far, 1.0, 20)) == {1}


def test_equal_streams_choose_alike_and_others_by_bits_of_their_own() -> None:
    many = np.zeros(1000, dtype=np.int64)
    first = exponential_choice(KEY, many, scale=1.0, stream=("a",))
    assert first == exponential_choice(KEY, many, scale=1.0, stream=("a",))
    assert len(set(drawn(many, 1.0, 50))) > 40


@pytest.mark.parametrize(("scores", "scale"), [([], 1.0), ([1], 0.0), ([1], float("inf")), ([1], float("nan"))])
def test_what_cannot_be_drawn_is_refused(scores: list[int], scale: float) -> None:
    with refuses("choice-without-scale" if scores else "nothing-to-choose"):
        exponential_choice(KEY, np.array(scores, dtype=np.int64), scale=scale, stream=())
