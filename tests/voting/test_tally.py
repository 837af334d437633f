"""The tally: one ballot a unit over the candidates of all classes, in which nobody votes outside their class."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.federation.private_samples import PrivateSamples
from fedtext.voting.ballots import nearest_histogram_blocks
from fedtext.voting.tally import UNCLIPPED, joint_ballots
from tests.voting.examples import unit

CAST = partial(nearest_histogram_blocks, clip_norm=UNCLIPPED, block=3)


def held(seed: int, classes: int = 2) -> PrivateSamples:
    rng = np.random.default_rng(seed)
    who = np.sort(rng.integers(0, 9, 25))
    return PrivateSamples(unit(rng.standard_normal((25, 5))), who, rng.integers(-1, classes, 25), 9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), classes=st.integers(1, 4))
def test_ballots_equal_one_loop_over_samples(seed: int, classes: int) -> None:
    samples, rng = held(seed, classes), np.random.default_rng(seed + 1)
    texts, label, voted_on = unit(rng.standard_normal((14, 5))), rng.integers(0, classes, 14), rng.random(14) < 0.8
    expected = {int(u): np.zeros(14) for u in np.unique(samples.unit)}
    for row, who, c in zip(samples.features, samples.unit, samples.label, strict=True):
        open_to = np.flatnonzero((label == c) & voted_on)
        if len(open_to):
            expected[int(who)][open_to[(texts[open_to] @ row).argmax()]] += 1
    blocks = list(joint_ballots(samples, texts, label, CAST, voted_on))
    found = np.concatenate([np.zeros((0, 14)), *blocks])
    if voted_on.any():
        assert np.array_equal(found, np.array([expected[u] for u in sorted(expected)]))
    else:
        assert not blocks


def test_units_keep_their_own_row_whatever_class_they_lack() -> None:
    samples = PrivateSamples(np.eye(3), np.array([0, 4, 7]), np.array([1, 0, 1]), 9)
    (ballots,) = joint_ballots(samples, np.eye(3), np.array([1, 0, 1]), CAST, np.ones(3, dtype=bool))
    assert np.array_equal(ballots, np.eye(3))


def test_nobody_at_all_sends_nothing() -> None:
    nobody = held(0).of_units(np.zeros(0, dtype=np.int64))
    assert (
        sum(len(b) for b in joint_ballots(nobody, np.eye(5), np.zeros(5, dtype=np.int64), CAST, np.ones(5, dtype=bool)))
        == 0
    )


def test_a_broken_candidate_is_named() -> None:
    texts = np.eye(5)
    texts[2, 2] = np.nan
    with pytest.raises(ValueError, match="candidates holds NaN"):
        list(joint_ballots(held(1, 1), texts, np.zeros(5, dtype=np.int64), CAST, np.ones(5, dtype=bool)))
