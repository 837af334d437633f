"""Candidates find their score by their adapter, and one without a place among the scores is refused in a sentence."""

from __future__ import annotations

import numpy as np

from fedtext.evaluation.rounds import Rounds, candidates_of
from tests.refusals import refuses

ROWS = np.ones((2, 3))


def test_a_round_without_texts_leaves_the_others_their_scores() -> None:
    rounds = Rounds(released_scores=[0.1, None, 0.3], stopped=False, chosen=2)
    found = candidates_of(rounds, {"round_01": ROWS, "round_03": ROWS})
    assert [(one.adapter, one.released_score) for one in found] == [(0, 0.1), (2, 0.3)]


def test_a_set_that_was_paired_has_the_rows_of_its_pairs_and_one_that_was_not_has_none() -> None:
    rounds: Rounds = {"released_scores": [0.1, None], "stopped": False, "chosen": 1, "pairs": [([0], [2])]}
    first, last = candidates_of(rounds, {"round_01": ROWS, "round_02": ROWS})
    assert (first.chosen, first.rejected) == ([0], [2])
    assert (last.chosen, last.rejected) == ((), ())


def test_an_algorithm_without_rounds_has_no_candidates() -> None:
    assert candidates_of(None, None) == []


def test_candidates_without_a_place_among_the_scores_are_refused() -> None:
    rounds = Rounds(released_scores=[None, None], stopped=False, chosen=0)
    with refuses("scores-do-not-fit-rounds", value=2):
        candidates_of(rounds, {f"round_0{t}": ROWS for t in (1, 2, 3)})
