"""Survivors: in proportion to what is above the threshold, or by rank; a threshold that means what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedtext.algorithms.pe.selection import next_state, select_survivors, weights
from tests.algorithms.pe.examples import evolution, table

START = {"round": 0, "stopped": False, "released_scores": []}


@given(
    histogram=st.lists(st.floats(-50, 50), min_size=1, max_size=30),
    threshold=st.floats(0, 60),
    selection=st.sampled_from(["probability", "rank"]),
    seed=st.integers(0, 99),
)
def test_survivors_are_candidates_above_the_threshold_if_any_is(
    histogram: list[float], threshold: float, selection: str, seed: int
) -> None:
    votes = np.array(histogram)
    candidates = table([f"text {i}" for i in range(len(votes))])
    parameters = evolution(threshold=threshold, selection=selection, seed=seed)
    kept = select_survivors(candidates, votes, 1.0, parameters, 1)
    rows = [int(text.split()[1]) for text in kept["text"]]
    assert rows == sorted(rows)
    assert np.array_equal(kept["votes"], votes[rows])
    if selection == "probability":
        assert len(rows) == parameters.survivors
        if (votes > threshold).any():
            assert (votes[rows] > threshold).all()
    else:
        assert len(set(rows)) == len(rows) == min(parameters.survivors, len(votes))
        left = np.delete(votes, rows)
        assert not len(left) or votes[rows].min() >= left.max()


@given(votes=st.lists(st.floats(-9, 9), min_size=1, max_size=20), threshold=st.floats(0, 10))
def test_weights_are_shares(votes: list[float], threshold: float) -> None:
    shares = weights(np.array(votes), threshold)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1.0)


def test_survivors_come_in_proportion_to_the_votes_above_the_threshold() -> None:
    votes = np.array([3.0, 5.0, 9.0, 1.0, -4.0])
    drawn = select_survivors(table(list("abcde")), votes, 1.0, evolution(population=6000, threshold=2.0), 1)
    counts = drawn["text"].value_counts()
    assert set(counts.index) == {"a", "b", "c"}
    expected = 6000 * np.array([1, 3, 7]) / 11
    assert stats.chisquare([counts["a"], counts["b"], counts["c"]], expected).pvalue > 1e-3
    by_votes = 6000 * np.array([3, 5, 9]) / 17  # what forgetting to take the threshold off would give
    assert stats.chisquare([counts["a"], counts["b"], counts["c"]], by_votes).pvalue < 1e-6


def test_the_threshold_is_in_deviations_of_the_noise() -> None:
    """Of cells that hold noise alone 2.3% pass two deviations, whatever the noise is; the paper's 0.1626 lets 44% pass."""
    noise = np.random.default_rng(0).standard_normal(20_000)
    for stddev in (0.1, 40.0):
        for threshold in (2.0, 0.1626):
            state = next_state(
                START, table(["x"] * 20_000), stddev * noise, stddev, table(["x"]), evolution(threshold=threshold)
            )
            assert state["share_above_threshold"] == pytest.approx(stats.norm.sf(threshold), abs=0.01)


def test_rank_prefers_the_first_of_equals_and_asks_for_no_threshold() -> None:
    kept = select_survivors(
        table(list("abcd")), np.array([-3.0, 1.0, 1.0, 1.0]), 1.0, evolution(population=3, selection="rank"), 1
    )
    assert kept["text"].tolist() == ["b", "c", "d"]


def test_every_class_survives_in_equal_numbers_however_few_votes_it_has() -> None:
    candidates = table(list("abcdef"), ["tea", "tea", "tea", "rum", "rum", "rum"])
    votes = np.array([90.0, 80, 70, 0, 0, 0])
    kept = select_survivors(candidates, votes, 1.0, evolution(labels=("tea", "rum")), 1)
    assert kept["label"].value_counts().to_dict() == {"tea": 6, "rum": 6}
    with pytest.raises(ValueError, match="no candidate of class rum"):
        select_survivors(candidates[:3], votes[:3], 1.0, evolution(labels=("tea", "rum")), 2)


def test_rounds_draw_differently_and_repeat() -> None:
    candidates, votes = table([str(i) for i in range(50)]), np.full(50, 9.0)
    first, again, other = (select_survivors(candidates, votes, 1.0, evolution(), t)["text"].tolist() for t in (1, 1, 2))
    assert first == again != other


def test_broken_votes_are_an_error() -> None:
    with pytest.raises(ValueError, match="NaN"):
        select_survivors(table(["a", "b"]), np.array([1.0, np.nan]), 1.0, evolution(), 1)


def test_a_state_counts_and_scores_nothing() -> None:
    state = next_state(START, table(list("aabc")), np.array([9.0, 1, 0, 5]), 1.0, table(list("aac")), evolution())
    assert state == {
        "round": 1, "stopped": False, "released_scores": [None], "candidates": 4, "distinct_candidates": 3,
        "share_above_threshold": 0.5, "distinct_survivors": 2,
    }  # fmt: skip
