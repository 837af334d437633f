from __future__ import annotations

from fedtext.evaluation.measures.distances import FID, MEAN_GAP
from fedtext.evaluation.measures.known import (
    MEASURES,
    measure,
    measured_sets,
    measures_in_document,
    measures_of_kind,
    set_measures,
)
from fedtext.evaluation.measures.measure import Distance
from fedtext.evaluation.measures.next_token_accuracy import ACCURACY, top
from fedtext.evaluation.measures.texts import REPEATED_TEXTS
from fedtext.params.evaluation import Evaluation
from tests.evaluation.examples import accuracy
from tests.parameters import conf_base
from tests.refusals import refuses


def test_every_measure_has_one_name() -> None:
    assert [measure(each.name) for each in MEASURES] == list(MEASURES)
    assert len({each.name for each in MEASURES}) == len(MEASURES)
    assert measure("top_7") is top(7)


def test_an_unknown_name_is_told_what_there_is() -> None:
    with refuses("unknown-measure", value="fud"):
        measure("fud")


def test_names_of_other_kinds_are_left_out() -> None:
    names = conf_base(Evaluation, measures="repeated_texts mean_gap fid").measures
    assert measures_of_kind(Distance, names) == (MEAN_GAP, FID)
    assert set_measures(names) == (REPEATED_TEXTS, MEAN_GAP, FID)


def test_what_is_taken_in_any_case_is_no_measure_of_sets() -> None:
    with refuses("measure-on-held-out-texts"):
        set_measures(["fid", "cross_entropy"])


def test_a_document_s_measures_are_found_again() -> None:
    assert measures_in_document(accuracy())[0] is ACCURACY
    assert [each.name for each in measures_in_document(accuracy())] == ["top_1", "top_3", "top_5"]


def test_every_set_is_measured_on_as_many_texts_as_a_model_is_trained_on() -> None:
    sets = {"synthetic": ["a"] * 50 + ["b"] * 50, "public_control": list("abcdefgh"), "untuned_control": ["x"]}
    found = measured_sets(conf_base(Evaluation, measures="repeated_texts fid", texts=10), sets)
    assert found["measures"] == ["repeated_texts"]
    assert found["sets"] == {
        "public_control": {"repeated_texts": 0.0, "texts": 8},
        "untuned_control": {"repeated_texts": 0.0, "texts": 1},
        "synthetic": {"repeated_texts": 0.8, "texts": 10},
    }
