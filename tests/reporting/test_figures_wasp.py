"""WASP's figures say what was released: shares of a round, good beside bad, texts of each class; and nothing is markup."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.reporting.figures_wasp import EMPTY, NO_CLASS, class_balance, example_table, model_shares

CANDIDATES = pd.DataFrame(
    {
        "text": ["a", "b", "", "d", "e", "f"],
        "label": ["card_lost", "card_lost", "card_lost", "top_up", "top_up", "top_up"],
        "model": ["calm", "calm", "small", "small", "calm", "calm"],
        "round": [1, 1, 1, 1, 2, 2],
    }
)
STATE = {"weights": {"calm": 0.9, "small": 0.1}, "history": [{"round": 1, "seen": False}, {"round": 2, "seen": True}]}


def examples(text: str = 'she said "no" & <b>left</b>') -> pd.DataFrame:
    rows = [("good", "card_lost", "calm", text), ("bad", "card_lost", "small", "b"), ("good", None, "calm", "c")]
    return pd.DataFrame(rows, columns=["kind", "label", "model", "text"])


def test_shares_of_a_round_add_up_and_lost_votes_are_told() -> None:
    figure = model_shares(CANDIDATES, STATE, examples())
    shares = np.array([bar.y for bar in figure.data])
    assert shares.sum(axis=0) == pytest.approx([1.0, 1.0])
    assert shares.tolist() == [[0.5, 1.0], [0.5, 0.0]]
    assert [bar.name for bar in figure.data] == ["calm (2 good)", "small (0 good)"]
    (said,) = [note.text for note in figure.layout.annotations]
    assert "Votes of round 1 were lost in their noise" in said


def test_examples_stand_by_class_in_words_and_no_text_is_markup() -> None:
    (table,) = example_table(examples()).data
    classes, kinds, models, texts = table.cells.values
    assert list(classes) == ["card lost", "card lost", NO_CLASS]
    assert (list(kinds), list(models)) == (["good", "bad", "good"], ["calm", "small", "calm"])
    assert texts[0] == 'she said "no" &amp; &lt;b&gt;left&lt;/b&gt;'


def test_the_table_is_as_high_as_its_texts_are_long() -> None:
    short, long = (example_table(examples(text)).layout.height for text in ("x", "word " * 40))
    assert long > short


def test_texts_of_each_class_are_counted_by_model_and_empty_ones_apart() -> None:
    found = {bar.name: dict(zip(bar.y, bar.x.tolist(), strict=True)) for bar in class_balance(CANDIDATES).data}
    assert found == {"calm": {"card lost": 2, "top up": 2}, "small": {"top up": 1}, EMPTY: {"card lost": 1}}
    hostile = class_balance(CANDIDATES.assign(model="<b>", label=None)).data
    assert {bar.name for bar in hostile} == {"&lt;b&gt;", EMPTY}
    assert {label for bar in hostile for label in bar.y} == {NO_CLASS}
