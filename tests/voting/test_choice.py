from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedtext.voting.choice import choose_pairs
from tests.refusals import refuses


def test_first_against_the_rank():
    scores = np.array([0.1, 0.9, 0.5, 0.7, -0.2, 3.0, 1.0, 2.0, 5.0, 4.0])
    chosen, rejected = choose_pairs(scores, 5, 3)
    assert chosen.tolist() == [1, 8]
    assert rejected.tolist() == [2, 5]  # 0.9 0.7 0.5 and 5 4 3


def test_equal_scores_go_by_index():
    chosen, rejected = choose_pairs(np.array([1.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0]), 4, 2)
    assert chosen.tolist() == [1, 4]
    assert rejected.tolist() == [2, 5]


def test_too_few_valid_responses():
    scores = np.array([9.0, 1.0, 2.0, 3.0] * 3)
    valid = np.array([False, True, True, True, False, True, True, False, False, False, True, False])
    chosen, rejected = choose_pairs(scores, 4, 4, valid)
    assert chosen.tolist() == [3, 6]  # the highest score belongs to an empty text; the last prompt has one valid text
    assert rejected.tolist() == [1, 5]


def test_nothing_valid_gives_no_pair():
    chosen, rejected = choose_pairs(np.zeros(4), 2, 2, np.zeros(4, dtype=bool))
    assert len(chosen) == len(rejected) == 0
    assert chosen.dtype.kind == rejected.dtype.kind == "i"
    assert len(choose_pairs(np.zeros(0), 2, 2)[0]) == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_broken_scores_are_refused_unless_they_are_ignored(value):
    scores = np.array([1.0, value, 3.0, 4.0])
    with refuses("scores-not-finite", value=1):
        choose_pairs(scores, 2, 2)
    chosen, rejected = choose_pairs(scores, 4, 3, np.array([True, False, True, True]))
    assert (chosen.tolist(), rejected.tolist()) == ([3], [0])


@pytest.mark.parametrize(
    ("n", "responses", "rank", "code"),
    [
        (7, 3, 2, "incomplete-prompts"),
        (6, 3, 1, "rejected-rank-out-of-range"),
        (6, 3, 4, "rejected-rank-out-of-range"),
        (6, 0, 2, "responses-not-stated"),
    ],
)
def test_impossible_ranks_are_named(n, responses, rank, code):
    with refuses(code):
        choose_pairs(np.zeros(n), responses, rank)


@settings(max_examples=100)
@given(
    scores=arrays(np.float64, 24, elements=st.integers(-3, 3).map(float)),
    valid=arrays(np.bool_, 24),
    rank=st.integers(2, 6),
)
def test_pairs_are_what_sorting_each_prompt_gives(scores, valid, rank):
    chosen, rejected = choose_pairs(scores, 6, rank, valid)
    expected = []
    for first in range(0, 24, 6):
        usable = sorted((i for i in range(first, first + 6) if valid[i]), key=lambda i: (-scores[i], i))
        if len(usable) >= 2:
            expected.append((usable[0], usable[min(rank, len(usable)) - 1]))
    assert list(zip(chosen.tolist(), rejected.tolist(), strict=True)) == expected
