"""The tally: one ballot a unit over the candidates of all classes, in which nobody votes outside their class."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import unit_codes
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.voting.ballots import client_means, nearest_histogram_blocks, score_blocks
from fedtext.voting.tally import UNCLIPPED, Ballot, BallotFunction, Candidates, Vote, joint_ballots, noised_tally
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.voting.examples import unit

CAST = partial(nearest_histogram_blocks, clip_norm=UNCLIPPED, block=3)
KEY = new_noise_key(4)
VOTE = Ballot({"votes": CAST}, settings="", rule="")


class Cast(Vote):
    """A vote by any ballot."""

    given: Ballot

    @property
    def ballot(self) -> Ballot:
        return self.given


def vote_on(texts: np.ndarray, ballot: Ballot) -> Vote:
    return Cast(embeddings=texts, label=np.zeros(len(texts), dtype=np.int64), given=ballot)


CODES = unit_codes([f"client {i}" for i in range(9)])


def cast_cosines(
    features: np.ndarray, who: np.ndarray, units: int, candidates: np.ndarray, block: int = 3
) -> Iterator[np.ndarray]:
    return score_blocks(client_means(features, who, units), candidates, clip_norm=UNCLIPPED, block=block)


def on(texts: np.ndarray, label: np.ndarray | None = None) -> Candidates:
    classes = np.zeros(len(texts), dtype=np.int64) if label is None else label
    return Candidates(texts, classes, np.ones(len(texts), dtype=bool))


def held(seed: int, classes: int = 2) -> PrivateSamples:
    rng = np.random.default_rng(seed)
    who = CODES[rng.integers(0, 9, 25)]
    return PrivateSamples(unit(rng.standard_normal((25, 5))), who, rng.integers(-1, classes, 25), np.sort(CODES))


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), classes=st.integers(1, 4))
def test_ballots_equal_one_loop_over_samples(seed: int, classes: int) -> None:
    samples, rng = held(seed, classes), np.random.default_rng(seed + 1)
    texts, label, voted_on = unit(rng.standard_normal((14, 5))), rng.integers(0, classes, 14), rng.random(14) < 0.8
    expected = {int(u): np.zeros(14) for u in np.unique(samples.unit)}
    for row, who, c in zip(samples.features, samples.unit, samples.label, strict=True):
        open_to = np.flatnonzero((label == c) & voted_on)
        if len(open_to):
            expected[int(who)][open_to[(texts[open_to] @ row).argmax()]] += 1
    blocks = list(joint_ballots(samples, Candidates(texts, label, voted_on), VOTE))
    if voted_on.any():
        found = {int(one): row for block in blocks for one, row in zip(*block, strict=True)}
        assert sum(len(block.unit) for block in blocks) == len(found), "no unit comes twice"
        assert set(found) == set(expected)
        assert all(np.array_equal(found[one], expected[one]) for one in expected)
    else:
        assert not blocks


def ballots_of(samples: PrivateSamples, cast: BallotFunction, seed: int = 0, block: int = 3) -> dict[int, bytes]:
    """Each unit's joint ballot on 14 candidates of two classes."""
    texts, label = unit(np.random.default_rng(seed).standard_normal((14, 5))), np.arange(14) % 2
    ballot = Ballot({"score": partial(cast, block=block)}, settings="", rule="")
    blocks = joint_ballots(samples, on(texts, label), ballot)
    return {int(one): row.tobytes() for found in blocks for one, row in zip(*found, strict=True)}


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), gone=st.integers(0, 8))
@pytest.mark.parametrize("cast", [cast_cosines, CAST], ids=["cosines", "nearest"])
def test_a_unit_that_goes_or_changes_moves_no_bit_of_another_s_ballot(
    cast: BallotFunction, seed: int, gone: int
) -> None:
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
    (ballots,) = joint_ballots(samples, on(np.eye(3), np.array([1, 0, 1])), VOTE)
    assert ballots.unit.tolist() == [0, 4, 7]
    assert np.array_equal(ballots.rows, np.eye(3))


def test_nobody_at_all_sends_nothing() -> None:
    nobody = held(0).of_units(np.zeros(0, dtype=np.int64))
    assert sum(len(block.rows) for block in joint_ballots(nobody, on(np.eye(5)), VOTE)) == 0


def cast_far(
    features: np.ndarray, who: np.ndarray, units: int, candidates: np.ndarray, block: int = 3
) -> Iterator[np.ndarray]:
    """A vote for the candidate that is furthest away."""
    return nearest_histogram_blocks(-features, who, units, candidates, clip_norm=UNCLIPPED, block=block)


NEAR_AND_FAR = Ballot({"near": CAST, "far": cast_far}, settings="both", rule="")


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), classes=st.integers(1, 3))
def test_parts_lie_side_by_side_each_over_all_candidates(seed: int, classes: int) -> None:
    samples, rng = held(seed, classes), np.random.default_rng(seed + 1)
    texts = on(unit(rng.standard_normal((14, 5))), rng.integers(0, classes, 14))
    joint = list(joint_ballots(samples, texts, NEAR_AND_FAR))
    for name, cast in NEAR_AND_FAR.parts.items():
        alone = list(joint_ballots(samples, texts, Ballot({name: cast}, settings="", rule="")))
        for both, own in zip(joint, alone, strict=True):
            assert np.array_equal(both.unit, own.unit)
            assert np.array_equal(NEAR_AND_FAR.layout(14).read(both.rows)[name], own.rows)


def test_parts_share_one_clip_one_charge_and_one_name_and_are_read_back_by_name() -> None:
    """A client that votes once near and once far has one ballot of norm sqrt 2: half as loud in either part."""
    texts, samples = np.eye(4), PrivateSamples.of_one_class(np.array([[0.9, 0.1, -0.1, -0.9]]), CODES[:1])
    declared = conf_base(Privacy, epsilon=1e15, delta=1e-6, noise_seed=0, aggregation="trusted")
    book, query = Ledger(declaration=declared, population=1), Query("votes", 1, 8, 1.0, 1e-6)
    scores, charged = noised_tally(query, vote_on(texts, NEAR_AND_FAR), Simulated(samples, KEY), book)
    assert scores["near"] == pytest.approx([math.sqrt(0.5), 0, 0, 0], abs=2e-3)
    assert scores["far"] == pytest.approx([0, 0, 0, math.sqrt(0.5)], abs=2e-3)
    assert [release.name for release in charged.releases] == ["votes"]
    assert charged.releases[0].sensitivity == pytest.approx(1.0, rel=1e-3)
    alone, _ = noised_tally(query, vote_on(texts, VOTE), Simulated(samples, KEY), book)
    assert alone["votes"] == pytest.approx([1, 0, 0, 0], abs=2e-3)


def test_two_rules_share_no_noise_where_they_give_the_same_votes() -> None:
    """The same bytes would tell for certain that no unit votes otherwise under the other rule."""
    texts, samples = np.eye(4), PrivateSamples.of_one_class(np.eye(4)[:2], CODES[:2])
    declared = conf_base(Privacy, epsilon=8.0, delta=1e-6, noise_seed=0, aggregation="trusted")
    book, query = Ledger(declaration=declared, population=2), Query("votes", 1, 4, 1.0, 1.0)
    one, again, other = (
        noised_tally(query, vote_on(texts, replace(VOTE, rule=rule)), Simulated(samples, KEY), book).scores["votes"]
        for rule in ("nearest 1", "nearest 1", "nearest 2")
    )
    assert np.array_equal(one, again)
    assert not np.isin(one, other).any()


def test_a_broken_candidate_is_named() -> None:
    texts = np.eye(5)
    texts[2, 2] = np.nan
    with refuses("embeddings-not-finite", parameter="candidates"):
        list(joint_ballots(held(1, 1), on(texts), VOTE))
