"""How a data set is judged, as the command line can say it."""

from __future__ import annotations

import pytest

from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from tests.parameters import conf_base
from tests.refusals import refuses


@pytest.mark.parametrize(("given", "top"), [("1 3", (1, 3)), (1, (1,)), ([1, 5], (1, 5))])
def test_ranks_are_given_as_words(given: object, top: tuple[int, ...]) -> None:
    assert conf_base(Evaluation, top=given).top == top


@pytest.mark.parametrize("given", ["3 5", (5, 1), "", ()])
def test_accuracy_itself_comes_first(given: object) -> None:
    with refuses("top-begins-above-one", parameter="evaluation.top"):
        conf_base(Evaluation, top=given)


def test_a_rank_is_positive() -> None:
    with refuses("unfit-value", parameter="top.1", value="0"):
        conf_base(Evaluation, top="1 0")


def test_trainings_are_chosen_on_validation_text_of_public_corpora_alone() -> None:
    asked = conf_base(
        Evaluation, training={"chosen_on": "validation", "learning_rates": [1e-3, 1e-4], "held_out_share": 0}
    )
    asked.validate_choice(conf_base(Corpus))
    for corpus, changes in (
        (conf_base(Corpus, source="table", path="notes.csv"), {}),
        (conf_base(Corpus), {"dp": True}),
    ):
        with refuses("choice-on-private-text", parameter="evaluation.training.chosen_on"):
            asked.model_copy(update=changes).validate_choice(corpus)
    conf_base(Evaluation).validate_choice(conf_base(Corpus, source="table", path="notes.csv"))
