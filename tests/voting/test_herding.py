"""Herding: the chosen rows' mean goes to the target, exactly as many as asked, ties by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.voting import herding
from fedtext.voting.herding import herd


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
        patch.setattr(herding, "SHARD", shard)
        kept = herd(features, np.ones(3), count)
    assert len(kept) == len(set(kept.tolist())) == count
    assert (np.diff(kept) > 0).all()


def test_shards_still_beat_random_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(herding, "SHARD", 20)
    rng = np.random.default_rng(2)
    rows, target = rng.standard_normal((70, 4)), np.full(4, 0.2)
    gaps = [np.linalg.norm(rows[rng.choice(70, 16, replace=False)].mean(axis=0) - target) for _ in range(100)]
    assert np.linalg.norm(rows[herd(rows, target, 16)].mean(axis=0) - target) < min(gaps)


def test_more_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="5 texts out of 4"):
        herd(np.ones((4, 2)), np.ones(2), 5)


def test_values_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="target"):
        herd(np.ones((4, 2)), np.array([1.0, np.nan]), 2)
    with pytest.raises(ValueError, match="features"):
        herd(np.array([[1.0, 0.0], [np.inf, 0.0]]), np.ones(2), 1)
