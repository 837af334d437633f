"""The tally: one ballot a unit over the candidates of all classes, in which nobody votes outside their class."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import unit_codes
from fedtext.voting.ballots import client_means, nearest_histogram_blocks, score_blocks
from fedtext.voting.tally import UNCLIPPED, Cast, joint_ballots
from tests.voting.examples import unit

CAST = partial(nearest_histogram_blocks, clip_norm=UNCLIPPED, block=3)
CODES = unit_codes([f"client {i}" for i in range(9)])


def cast_cosines(
    features: np.ndarray, who: np.ndarray, units: int, candidates: np.ndarray, block: int = 3
) -> Iterator[np.ndarray]:
    return score_blocks(client_means(features, who, units), candidates, clip_norm=UNCLIPPED, block=block)


def held(seed: int, classes: int = 2) -> PrivateSamples:
    rng = np.random.default_rng(seed)
    who = CODES[rng.integers(0, 9, 25)]
    return PrivateSamples(unit(rng.standard_normal((25, 5))), who, rng.integers(-1, classes, 25), np.sort(CODES))


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
    if voted_on.any():
        found = {int(one): row for block in blocks for one, row in zip(*block, strict=True)}
        assert sum(len(block.unit) for block in blocks) == len(found), "no unit comes twice"
        assert set(found) == set(expected)
        assert all(np.array_equal(found[one], expected[one]) for one in expected)
    else:
        assert not blocks


def ballots_of(samples: PrivateSamples, cast: Cast, seed: int = 0, block: int = 3) -> dict[int, bytes]:
    """Each unit's joint ballot on 14 candidates of two classes."""
    texts, label = unit(np.random.default_rng(seed).standard_normal((14, 5))), np.arange(14) % 2
    blocks = joint_ballots(samples, texts, label, partial(cast, block=block), np.ones(14, dtype=bool))
    return {int(one): row.tobytes() for found in blocks for one, row in zip(*found, strict=True)}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), gone=st.integers(0, 8))
@pytest.mark.parametrize("cast", [cast_cosines, CAST], ids=["cosines", "nearest"])
def test_a_unit_that_goes_or_changes_moves_no_bit_of_another_s_ballot(cast: Cast, seed: int, gone: int) -> None:
    samples, code = held(seed), CODES[gone]
    before, without = ballots_of(samples, cast), ballots_of(samples.of_units(np.delete(CODES, gone)), cast)
    assert without == {one: row for one, row in before.items() if one != code}
    changed = PrivateSamples(
        np.where((samples.unit == code)[:, None], -samples.features, samples.features), samples.unit, samples.label,
        samples.enrolled,
    )  # fmt: skip
    after = ballots_of(changed, cast)
    assert {one for one in before if after[one] != before[one]} <= {int(code)}
    assert ballots_of(samples, cast, block=100) == before


def test_units_keep_their_own_row_whatever_class_they_lack() -> None:
    samples = PrivateSamples(np.eye(3), np.array([0, 4, 7]), np.array([1, 0, 1]), np.arange(9))
    (ballots,) = joint_ballots(samples, np.eye(3), np.array([1, 0, 1]), CAST, np.ones(3, dtype=bool))
    assert ballots.unit.tolist() == [0, 4, 7]
    assert np.array_equal(ballots.rows, np.eye(3))


def test_nobody_at_all_sends_nothing() -> None:
    nobody = held(0).of_units(np.zeros(0, dtype=np.int64))
    assert (
        sum(
            len(b.rows)
            for b in joint_ballots(nobody, np.eye(5), np.zeros(5, dtype=np.int64), CAST, np.ones(5, dtype=bool))
        )
        == 0
    )


def test_a_broken_candidate_is_named() -> None:
    texts = np.eye(5)
    texts[2, 2] = np.nan
    with pytest.raises(ValueError, match="candidates holds NaN"):
        list(joint_ballots(held(1, 1), texts, np.zeros(5, dtype=np.int64), CAST, np.ones(5, dtype=bool)))
