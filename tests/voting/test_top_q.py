"""Top-Q ballots: their definition one record at a time, their norm by search, ties, classes, blocks."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.federation.private_samples import PrivateSamples
from fedtext.voting.tally import Ballot, Candidates, joint_ballots
from fedtext.voting.top_q import ballot_norm, ballot_total, ranked, top_q_blocks
from tests.voting.examples import unit

seeds, some_votes = st.integers(0, 2**32 - 1), st.integers(1, 12)


def records(seed: int, *, count: int = 9, texts: int = 17, classes: int = 1) -> tuple[PrivateSamples, Candidates]:
    """Records and texts, some of which are one and the same; the last class may have few texts."""
    random = np.random.default_rng(seed)
    rows = unit(random.standard_normal((texts, 5)) + 0.3).astype(np.float32)
    rows[random.integers(0, texts, 3)] = rows[0]
    held = unit(random.standard_normal((count, 5)) + 0.3).astype(np.float32)
    label = random.integers(0, classes, count)
    unit_of = np.arange(count)
    samples = PrivateSamples(held, unit_of, label, unit_of)
    return samples, Candidates(rows, random.integers(0, classes, texts), np.ones(texts, dtype=bool))


def ballots(samples: PrivateSamples, texts: Candidates, votes: int, block: int = 256) -> np.ndarray:
    """Near votes beside far ones, a row a unit that holds samples."""
    cast = partial(top_q_blocks, votes=votes, block=block)
    ballot = Ballot({"near": cast, "far": partial(cast, furthest=True)}, settings="")
    width = 2 * len(texts.label)
    return np.concatenate([np.zeros((0, width)), *(b.rows for b in joint_ballots(samples, texts, ballot))])


def by_hand(samples: PrivateSamples, texts: Candidates, votes: int) -> np.ndarray:
    """Algorithm 3, DP_PrivateVoting, one record after the other."""
    found = np.zeros((len(samples.unit), 2, len(texts.label)))
    for j, (record, label) in enumerate(zip(samples.features, samples.label, strict=True)):
        own = np.flatnonzero(texts.label == label)
        alike = [float(np.dot(record.astype(np.float64), texts.embeddings[i].astype(np.float64))) for i in own]
        nearest = sorted(range(len(own)), key=lambda i: (-round(alike[i], 6), own[i]))
        furthest = sorted(range(len(own)), key=lambda i: (round(alike[i], 6), own[i]))
        for q, (n, f) in enumerate(zip(nearest[:votes], furthest[:votes], strict=True)):
            found[j, 0, own[n]] += 1 / 2**q
            found[j, 1, own[f]] += 1 / 2**q
    return found.reshape(len(found), -1)


@given(seed=seeds, votes=some_votes, classes=st.integers(1, 3), block=st.integers(1, 20))
@settings(max_examples=60)
def test_ballots_are_the_paper_s_whatever_the_block(seed: int, votes: int, classes: int, block: int) -> None:
    samples, texts = records(seed, classes=classes)
    assert np.array_equal(ballots(samples, texts, votes, block), by_hand(samples, texts, votes))


@given(seed=seeds, votes=some_votes, classes=st.integers(1, 4))
@settings(max_examples=80)
def test_a_record_s_ballot_is_no_longer_than_its_norm_and_two_differ_by_sqrt_2_of_it(
    seed: int, votes: int, classes: int
) -> None:
    """zero_out and replace_one by search, over classes that are small, empty, or full of duplicates."""
    found = ballots(*records(seed, classes=classes), votes)
    assert np.linalg.norm(found, axis=1).max(initial=0.0) <= ballot_norm(votes) * (1 + 1e-12)
    apart = np.linalg.norm(found[:, None] - found[None], axis=2).max(initial=0.0)
    assert apart <= math.sqrt(2) * ballot_norm(votes) * (1 + 1e-12)


def test_both_bounds_are_attained() -> None:
    texts = np.eye(8, dtype=np.float32)
    first = PrivateSamples(texts[[0, 4]], np.arange(2), np.array([0, 1]), np.arange(2))
    found = ballots(first, Candidates(texts, np.repeat([0, 1], 4), np.ones(8, dtype=bool)), 4)
    assert np.linalg.norm(found, axis=1) == pytest.approx(ballot_norm(4))
    assert np.linalg.norm(found[0] - found[1]) == pytest.approx(math.sqrt(2) * ballot_norm(4))


def test_the_norm_is_the_joint_one_and_no_l1_bound() -> None:
    assert ballot_norm(8) == pytest.approx(1.63298, abs=5e-6)
    assert ballot_norm(1) == pytest.approx(math.sqrt(2))
    assert all(ballot_norm(q) <= math.sqrt(8 / 3) for q in range(1, 33))
    assert ballot_norm(8, parts=1) == pytest.approx(1.63298 / math.sqrt(2), abs=5e-6)
    assert ballot_total(8) == 1.9921875


@given(seed=seeds, votes=some_votes)
@settings(max_examples=30)
def test_near_and_far_votes_add_up_to_the_same_where_there_are_texts_enough(seed: int, votes: int) -> None:
    near, far = np.split(ballots(*records(seed), votes), 2, axis=1)
    assert (near.sum(axis=1) == ballot_total(votes)).all()
    assert (far.sum(axis=1) == ballot_total(votes)).all()


@given(seed=seeds)
@settings(max_examples=20)
def test_no_vote_leaves_its_class_and_a_record_of_none_casts_none(seed: int) -> None:
    samples, texts = records(seed, classes=3)
    samples.label[0] = -1
    joint = ballots(samples, texts, 4).reshape(len(samples.unit), 2, -1).sum(axis=1)
    assert not joint[samples.label[:, None] != texts.label[None]].any()


def test_equal_texts_are_ranked_by_index() -> None:
    found = ranked(np.array([[0.5, 0.5, 0.5, 0.5], [0.1, 0.9, 0.9, 0.2]], dtype=np.float32), 3)
    assert found.column.tolist() == [0, 1, 2, 1, 2, 3]
    assert found.rank.tolist() == [0, 1, 2, 0, 1, 2]


@given(seed=seeds)
@settings(max_examples=20)
def test_a_record_s_ballot_is_its_own_in_any_company_and_order(seed: int) -> None:
    samples, texts = records(seed, count=300 if seed % 7 == 0 else 9)
    alone = PrivateSamples(samples.features[4:5], samples.unit[4:5], samples.label[4:5], samples.enrolled)
    assert np.array_equal(ballots(samples, texts, 5)[4], ballots(alone, texts, 5)[0])
    turned = np.random.default_rng(seed).permutation(len(samples.unit))
    other = PrivateSamples(samples.features[turned], samples.unit[turned], samples.label[turned], samples.enrolled)
    assert np.array_equal(ballots(other, texts, 5), ballots(samples, texts, 5))


def test_a_client_s_ballot_is_the_sum_of_its_records() -> None:
    samples, texts = records(3)
    client = np.array([0, 0, 0, 1, 1, 1, 1, 5, 5])
    own = ballots(PrivateSamples(samples.features, client, samples.label, np.unique(client)), texts, 6)
    single = ballots(samples, texts, 6)
    assert np.array_equal(own, np.stack([single[client == c].sum(axis=0) for c in (0, 1, 5)]))


def test_what_nobody_can_vote_on_and_what_is_broken_is_refused() -> None:
    samples, texts = records(1)
    who = samples.unit
    with pytest.raises(ValueError, match="0 candidates of 5 dimensions"):
        next(top_q_blocks(samples.features, who, 9, texts.embeddings[:0], votes=3))
    with pytest.raises(ValueError, match=r"samples of 5: .*one encoder"):
        next(top_q_blocks(samples.features, who, 9, texts.embeddings[:, :3], votes=3))
    broken = samples.features.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        next(top_q_blocks(broken, who, 9, texts.embeddings, votes=3))
    assert next(top_q_blocks(samples.features[:0], who[:0], 2, texts.embeddings, votes=3)).tolist() == [[0.0] * 17] * 2
