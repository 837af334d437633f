"""What the first candidates are asked for: classes in turn, by examples of their own or by name alone."""

from __future__ import annotations

import pandas as pd
import pytest

from fedtext.algorithms.pe.start import first_prompts, public_texts
from tests.algorithms.pe.examples import evolution, table

PUBLIC = table([f"mail {i}" for i in range(4)] + [f"tag {i}" for i in range(2)], ["email"] * 4 + ["xml"] * 2)


def test_a_class_is_asked_for_by_its_own_samples_or_by_its_name_alone() -> None:
    asked = first_prompts(PUBLIC, evolution(form="aug_pe", labels="email xml card_arrival", population=9))
    assert asked["label"].tolist() == ["email", "xml", "card_arrival"] * 3
    of_class = {label: "".join(prompts) for label, prompts in asked.groupby("label")["prompt"]}
    assert "mail " in of_class["email"]
    assert "tag " not in of_class["email"]
    for label, name in (("xml", "xml"), ("card_arrival", "card arrival")):  # too few samples, and none
        assert "tag " not in of_class[label]
        assert "mail " not in of_class[label]
        assert f" about {name}" in of_class[label]


def test_without_classes_any_samples_are_shown() -> None:
    asked = first_prompts(PUBLIC, evolution(form="aug_pe", population=30))
    shown = "".join(asked["prompt"])
    assert all(text in shown for text in PUBLIC["text"])
    assert asked["label"].isna().all()


def test_public_texts_are_a_start_that_holds_each_at_most_once() -> None:
    start = public_texts(PUBLIC, evolution(population=6))
    assert sorted(start["text"]) == sorted(PUBLIC["text"])
    with pytest.raises(ValueError, match="no public text to begin with"):
        public_texts(pd.DataFrame({"text": [], "label": []}), evolution(population=6))
