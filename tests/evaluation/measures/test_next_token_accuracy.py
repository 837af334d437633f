from __future__ import annotations

import numpy as np
import pytest

from fedtext.evaluation.measures.next_token_accuracy import ACCURACY, CROSS_ENTROPY, named, ranks_of, top

SCORED = {
    "top": np.array([1, 5]),
    "correct": np.array([[2, 4], [1, 3]]),
    "tokens": np.array([5, 5]),
    "nats": np.array([6.0, 9.0]),
}


def test_every_rank_reads_its_own_column() -> None:
    assert [each.name for each in ranks_of(SCORED)] == ["top_1", "top_5"]
    assert ACCURACY.ratio(SCORED).estimate == 0.3
    assert top(5).ratio(SCORED).estimate == 0.7
    assert CROSS_ENTROPY.ratio(SCORED).estimate == 1.5
    with pytest.raises(ValueError, match="not in list"):
        top(3).ratio(SCORED)


@pytest.mark.parametrize(("name", "found"), [("top_1", top(1)), ("top_12", top(12)), ("top_0", None), ("top", None)])
def test_ranks_are_found_by_name(name: str, found: object) -> None:
    assert named(name) is found


def test_only_the_first_rank_is_called_accuracy() -> None:
    assert (ACCURACY.title, ACCURACY.noun, ACCURACY.column) == ("next-token accuracy", "accuracy", "top 1")
    assert top(3).noun == "top-3 accuracy"
