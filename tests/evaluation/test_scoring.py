from __future__ import annotations

from fedtext.evaluation.scoring import evenly_spaced, held_out_sample
from fedtext.params.evaluation import Evaluation


def test_held_out_sample_is_bounded_sorted_and_repeatable():
    params = Evaluation(max_eval_samples=50)
    assert held_out_sample(20, params).tolist() == list(range(20))
    drawn = held_out_sample(1000, params)
    assert len(set(drawn)) == 50
    assert drawn.tolist() == sorted(drawn)
    assert drawn.max() > 500
    assert drawn.tolist() == held_out_sample(1000, params).tolist()


def test_as_many_texts_as_asked_and_spread_over_all() -> None:
    texts = [str(i) for i in range(100)]
    assert evenly_spaced(texts, 3) == ["0", "49", "99"]
    assert evenly_spaced(texts, 200) == texts
    assert evenly_spaced([], 5) == []
