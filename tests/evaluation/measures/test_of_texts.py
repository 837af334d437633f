from __future__ import annotations

from fedtext.evaluation.measures.of_texts import of_sets
from fedtext.params.evaluation import Evaluation


def test_every_set_is_measured_on_as_many_texts_as_a_model_is_trained_on() -> None:
    sets = {"synthetic": ["a"] * 50 + ["b"] * 50, "public_control": list("abcdefgh"), "untuned_control": ["x"]}
    found = of_sets(Evaluation(measures="repeated_texts fid", texts=10), sets)
    assert found["measures"] == ["repeated_texts"]
    assert found["sets"] == {
        "public_control": {"repeated_texts": 0.0, "texts": 8},
        "untuned_control": {"repeated_texts": 0.0, "texts": 1},
        "synthetic": {"repeated_texts": 0.8, "texts": 10},
    }
