"""Early stopping and the choice of an adapter, by released values alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms.popri.checkpoint import chosen_adapter, next_state, released_score, stopped_early
from tests.algorithms.popri.examples import BALLOTS, TEXTS, candidates, popri, unit_rows

START = {"round": 0, "stopped": False, "released_scores": []}
PAIRS = pd.DataFrame({"chosen_score": [0.5, 0.3], "rejected_score": [0.1, 0.1]})
LABEL = np.zeros(6, dtype=np.int64)


@pytest.mark.parametrize(
    ("history", "patience", "stops"),
    [
        ([0.1, 0.2, 0.3], 1, False),
        ([0.1, 0.3, 0.2], 1, True),
        ([0.1, 0.3, 0.3], 1, True),
        ([0.1, 0.3, 0.2], 2, False),
        ([0.3, 0.1, 0.2], 2, True),
        ([0.3, 0.1, 0.4], 2, False),
        ([0.3], 1, False),
        ([], 1, False),
        ([0.3, 0.1, 0.1, 0.1], None, False),
    ],
)
def test_stops_after_that_many_rounds_without_a_new_best(history: list[float], patience: int, stops: bool) -> None:
    assert stopped_early(history, popri(patience=patience)) is stops


@pytest.mark.parametrize(
    ("scored", "adapter"),
    [
        ([-0.3, -0.1, -0.2, -0.4], 1),
        ([-0.1, -0.2, -0.3, -0.4], 0),
        ([-0.3, -0.1, -0.1, -0.4], 2),  # a tie goes to the one trained longer
        ([-0.3, -0.2, -0.1, None], 3),  # still rising where scores end
        ([-0.3, -0.1, -0.2, None], 1),
        ([-0.3, float("nan"), -0.5, -0.4], 0),
        ([None, None, None, None], 3),
    ],
)
def test_the_adapter_with_the_best_released_score_is_chosen(scored: list[float | None], adapter: int) -> None:
    assert chosen_adapter(scored, popri()) == adapter
    assert chosen_adapter(scored, popri(checkpoint="last")) == 3


def test_the_witness_s_score_is_minus_the_squared_gap_of_the_texts_there_are() -> None:
    rows = unit_rows(0, 6)
    released = unit_rows(1, 1)
    gap = rows.mean(axis=0) - released[0]
    assert released_score(TEXTS[:6], rows, LABEL, LABEL, released, popri()) == pytest.approx(-(gap @ gap))
    with_blank = np.concatenate([rows, np.zeros((1, 6))])
    label = np.zeros(7, dtype=np.int64)
    assert released_score(TEXTS[:7], with_blank, label, label, released, popri()) == pytest.approx(-(gap @ gap))


def test_classes_count_alike() -> None:
    rows, released = unit_rows(0, 6), unit_rows(1, 3)
    label = np.array([0, 0, 0, 0, 0, 1])
    gaps = [rows[:5].mean(axis=0) - released[0], rows[5] - released[1]]
    expected = -np.mean([g @ g for g in gaps])
    assert released_score(TEXTS[:6], rows, label, label, released, popri(labels=("a", "b", "c"))) == pytest.approx(
        expected
    )


def test_mean_scores_leave_empty_candidates_out() -> None:
    rows = unit_rows(0, 6)
    rows[0] = 0
    scores = np.array([9.0, 1, 2, 3, 4, 5])
    assert released_score(TEXTS[:6], rows, LABEL, scores, unit_rows(1, 1), popri(scoring="mean_embedding")) == 3


def test_no_score_where_rounds_cannot_be_compared_or_nothing_was_written() -> None:
    rows, scores = unit_rows(0, 6), np.arange(6.0)
    for scoring in BALLOTS:
        assert released_score(TEXTS[:6], rows, LABEL, scores, None, popri(scoring=scoring)) is None
    assert released_score(TEXTS[:6], np.zeros((6, 6)), LABEL, scores, unit_rows(1, 1), popri()) is None


def test_a_state_counts_rounds_texts_and_pairs() -> None:
    rows = unit_rows(0, 6)
    rows[5] = 0
    texts = candidates(["a", "a", "b", "c", "d", ""])
    state = next_state(START, texts, rows, np.ones(6), np.ones((1, 6)), PAIRS, popri(scoring="mean_embedding"))
    assert state == {
        "round": 1, "stopped": False, "released_scores": [1.0], "released_score": 1.0, "pairs": 2, "candidates": 5,
        "distinct_candidates": 4, "score_gap": pytest.approx(0.3),
    }  # fmt: skip


def test_a_skipped_round_has_no_score_and_stays_stopped() -> None:
    before = {**START, "round": 2, "stopped": True, "released_scores": [0.3, 0.1]}
    none = candidates([])
    state = next_state(before, none, np.zeros((0, 6)), np.zeros(0), None, PAIRS[:0], popri(patience=1))
    assert (state["round"], state["stopped"], state["released_scores"]) == (3, True, [0.3, 0.1, None])
    assert (state["candidates"], state["pairs"], state["score_gap"]) == (0, 0, 0.0)
