"""Herding: the chosen rows' mean goes to the target, exactly as many as asked, ties by row.

Drawing texts without replacement: distinct, as many as asked, in proportion to positive votes, else at random.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedtext.voting import selection
from fedtext.voting.selection import herd, resampled
from tests.refusals import refuses


def by_definition(features: np.ndarray, target: np.ndarray, count: int) -> list[int]:
    taken: list[int] = []
    for k in range(count):
        wanted = (k + 1) * target - features[taken].sum(axis=0)
        free = [i for i in range(len(features)) if i not in taken]
        taken.append(max(free, key=lambda i: (features[i] @ wanted, -i)))
    return sorted(taken)


def test_it_is_the_greedy_rule_written_out() -> None:
    rng = np.random.default_rng(0)
    rows, target = rng.standard_normal((25, 4)), rng.standard_normal(4)
    assert herd(rows, target, 9).tolist() == by_definition(rows, target, 9)


def test_it_beats_every_random_subset() -> None:
    rng = np.random.default_rng(1)
    rows, target = rng.standard_normal((60, 5)), np.full(5, 0.3)
    gaps = [np.linalg.norm(rows[rng.choice(60, 12, replace=False)].mean(axis=0) - target) for _ in range(300)]
    assert np.linalg.norm(rows[herd(rows, target, 12)].mean(axis=0) - target) < min(gaps)


def test_ties_go_to_the_lower_row() -> None:
    assert herd(np.ones((6, 3)), np.ones(3), 2).tolist() == [0, 1]


@given(rows=st.integers(0, 40), share=st.floats(0, 1), shard=st.integers(1, 12))
@settings(max_examples=60)
def test_as_many_distinct_rows_as_asked_however_many_shards(rows: int, share: float, shard: int) -> None:
    count, features = round(rows * share), np.random.default_rng(rows).standard_normal((rows, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "SHARD", shard)
        kept = herd(features, np.ones(3), count)
    assert len(kept) == len(set(kept.tolist())) == count
    assert (np.diff(kept) > 0).all()


def test_shards_still_beat_random_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "SHARD", 20)
    rng = np.random.default_rng(2)
    rows, target = rng.standard_normal((70, 4)), np.full(4, 0.2)
    gaps = [np.linalg.norm(rows[rng.choice(70, 16, replace=False)].mean(axis=0) - target) for _ in range(100)]
    assert np.linalg.norm(rows[herd(rows, target, 16)].mean(axis=0) - target) < min(gaps)


def test_more_than_there_are_is_refused() -> None:
    with refuses("too-few-texts", value=5):
        herd(np.ones((4, 2)), np.ones(2), 5)


def test_values_that_are_not_numbers_are_refused() -> None:
    with refuses("embeddings-not-finite", parameter="target"):
        herd(np.ones((4, 2)), np.array([1.0, np.nan]), 2)
    with refuses("embeddings-not-finite", parameter="features"):
        herd(np.array([[1.0, 0.0], [np.inf, 0.0]]), np.ones(2), 1)


@settings(max_examples=80)
@given(
    scores=st.lists(st.floats(-5, 5), min_size=1, max_size=60),
    classes=st.integers(1, 4),
    share=st.floats(0, 1),
    seed=st.integers(0, 999),
)
def test_picks_are_distinct_of_their_class_and_exactly_as_many(
    scores: list[float], classes: int, share: float, seed: int
) -> None:
    label = np.arange(len(scores)) % classes
    picks = np.floor(share * np.bincount(label, minlength=classes)).astype(int).tolist()
    found = resampled(np.array(scores), label, picks, np.random.default_rng(seed))
    assert len(set(found.tolist())) == len(found) == sum(picks)
    assert np.bincount(label[found], minlength=classes).tolist() == picks
    assert (np.diff(found) > 0).all()


def test_two_draws_have_the_chances_of_drawing_one_after_another() -> None:
    weight = np.array([5.0, 3.0, 2.0, -7.0])
    pairs: dict[tuple[int, ...], int] = {}
    runs = 6000
    rng = np.random.default_rng(0)
    for _ in range(runs):
        pair = tuple(resampled(weight, np.zeros(4, dtype=int), [2], rng).tolist())
        pairs[pair] = pairs.get(pair, 0) + 1
    share = weight[:3] / 10
    chance = {
        (i, j): share[i] * share[j] / (1 - share[i]) + share[j] * share[i] / (1 - share[j])
        for i in range(3)
        for j in range(i + 1, 3)
    }
    assert set(pairs) == set(chance)
    expected = [runs * chance[pair] for pair in sorted(chance)]
    assert stats.chisquare([pairs[pair] for pair in sorted(chance)], expected).pvalue > 1e-3
    independent = [runs * share[i] * share[j] for i, j in sorted(chance)]
    independent = [runs * one / sum(independent) for one in independent]
    assert stats.chisquare([pairs[pair] for pair in sorted(chance)], independent).pvalue < 1e-6


def test_texts_with_votes_come_first_and_the_rest_is_filled_at_random() -> None:
    scores, label = np.array([-1.0, 4.0, 0.0, -2.0, 0.0]), np.zeros(5, dtype=int)
    drawn = [resampled(scores, label, [3], np.random.default_rng(seed)).tolist() for seed in range(300)]
    assert all(1 in found for found in drawn)
    others = np.bincount([row for found in drawn for row in found if row != 1], minlength=5)[[0, 2, 3, 4]]
    assert stats.chisquare(others).pvalue > 1e-3


def test_what_cannot_be_drawn_is_refused() -> None:
    with refuses("too-few-texts-of-class", value=3):
        resampled(np.ones(2), np.zeros(2, dtype=int), [3], np.random.default_rng(0))
    with refuses("votes-not-finite"):
        resampled(np.array([1.0, np.nan]), np.zeros(2, dtype=int), [1], np.random.default_rng(0))
