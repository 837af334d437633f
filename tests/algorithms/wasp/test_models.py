"""Weights and counts: nothing is lost or over-counted, weights are shares, and noise alone gives equal ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.algorithms.wasp.models import counts, importance, stand_out, votes_of_best
from tests.algorithms.wasp.examples import wasp

sums = st.lists(st.floats(-50, 50), min_size=1, max_size=6).map(np.array)


@given(votes=sums, scale=st.floats(0.01, 100))
def test_weights_are_shares_and_do_not_depend_on_the_scale(votes: np.ndarray, scale: float) -> None:
    written = np.arange(len(votes))
    weight = importance(votes, written, wasp(), seen=True)
    assert weight.min() >= 0
    assert weight.sum() == pytest.approx(1.0)
    assert importance(votes * scale, written, wasp(), seen=True) == pytest.approx(weight, abs=1e-9)


def test_a_weight_is_the_share_of_votes_over_the_share_of_texts() -> None:
    votes, written = np.array([30.0, 10.0, -4.0]), np.array([10, 10, 20])
    assert importance(votes, written, wasp(), seen=True) == pytest.approx([0.75, 0.25, 0.0])
    assert importance(votes, np.array([30, 10, 20]), wasp(), seen=True) == pytest.approx([0.5, 0.5, 0.0])
    raw = np.array([3.0, 1.0, 0.0])  # w_k as the paper has them, whose shares softmax takes
    soft = importance(votes, written, wasp(weighting="softmax"), seen=True)
    assert soft == pytest.approx(np.exp(raw) / np.exp(raw).sum())


def test_weights_are_equal_where_nothing_is_known() -> None:
    votes, written = np.array([3.0, 1.0]), np.array([5, 5])
    assert importance(votes, written, wasp(weighting="uniform"), seen=True).tolist() == [0.5, 0.5]
    assert importance(votes, written, wasp(), seen=False).tolist() == [0.5, 0.5]
    assert importance(-votes, written, wasp(), seen=True).tolist() == [0.5, 0.5]
    assert not stand_out(199.2, 751.0)  # M = 100 at the published noise on 6,000 texts
    assert stand_out(199.2, 13.6 * np.sqrt(6))


def test_a_silent_model_gets_its_floor_and_no_more() -> None:
    weight = importance(np.array([9.0, 0.4]), np.array([12, 0]), wasp(), seen=True)
    assert weight.tolist() == [1.0, 0.0]
    assert counts(weight, wasp(texts=300, weight_floor=0.1), 2).sum(axis=1).tolist() == [91, 9]


@given(votes=sums, texts=st.integers(9, 200), labels=st.integers(1, 3), floor=st.floats(0, 0.5))
def test_counts_add_up_to_the_texts_of_a_round_and_classes_are_as_large(
    votes: np.ndarray, texts: int, labels: int, floor: float
) -> None:
    parameters = wasp(texts=texts, labels=tuple("abc"[:labels]), weight_floor=floor)
    weight = importance(votes, np.ones(len(votes), dtype=int), parameters, seen=True)
    rounds = [counts(weight, parameters, t) for t in (1, 2, 3)]
    assert [round_counts.sum() for round_counts in rounds] == [parameters.texts_of_round(t) for t in (1, 2, 3)]
    assert sum(round_counts.sum() for round_counts in rounds) == texts
    assert np.ptp(sum(round_counts.sum(axis=0) for round_counts in rounds)) <= 1
    assert min(round_counts.min() for round_counts in rounds) >= 0


def test_votes_of_a_single_release_are_shares_of_each_class_s_best_tenth() -> None:
    score, label = np.arange(40.0), np.arange(40) % 2
    model = np.array([0] * 34 + [1] * 6)
    assert votes_of_best(score, label, model, 2).tolist() == [0, 4]
    assert votes_of_best(np.zeros(40), label, model, 2).tolist() == [4, 0]
