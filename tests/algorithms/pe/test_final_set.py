"""What a model wrote in all rounds as a data set: each text once, by the round that wrote it, classes in turn."""

from __future__ import annotations

import pandas as pd

from fedtext.algorithms.pe.final_set import accumulated
from tests.algorithms.pe.examples import evolution


def texts(*said: str, label: str | None = None) -> pd.DataFrame:
    return pd.DataFrame({"text": list(said), "label": pd.Series([label] * len(said), dtype=object)})


def test_a_kept_survivor_counts_for_the_round_that_wrote_it_and_the_newest_come_first() -> None:
    kept = accumulated([texts("a", "b"), texts("b", "b2"), texts("b2", "b3", "b3")], evolution(form="aug_pe"))
    assert kept[["text", "round"]].to_numpy().tolist() == [["b3", 3], ["b2", 2], ["a", 1], ["b", 1]]
    assert kept["prompt_id"].is_unique


def test_public_texts_were_not_written_and_are_left_out_wherever_they_turn_up() -> None:
    kept = accumulated([texts("public", "other"), texts("new", "public"), texts("newer")], evolution())
    assert kept["text"].tolist() == ["newer", "new"]


def test_any_first_part_has_as_many_texts_of_each_class() -> None:
    one_round = pd.concat([texts("a1", "a2", label="a"), texts("b1", "b2", label="b")], ignore_index=True)
    kept = accumulated([texts(), one_round], evolution(labels="a b"))
    assert kept["text"].tolist() == ["a1", "b1", "a2", "b2"]


def test_what_two_classes_say_alike_is_a_text_of_either() -> None:
    both = pd.concat([texts("same", label="a"), texts("same", label="b")], ignore_index=True)
    assert len(accumulated([texts(), both], evolution(labels="a b"))) == 2
