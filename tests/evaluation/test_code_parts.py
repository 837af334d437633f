"""Control codes by their parts: whose label is what, and that a part is judged alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.evaluation.code_parts import View, code_parts, judged_with_parts
from fedtext.params.task import Task, in_words, joined, parts_of
from tests.parameters import conf_base

CODES = ["food\t1", "food\t5", "spa\t5"]
TASK = conf_base(Task, labels=CODES)
TABLE = pd.DataFrame({"text": list("abcd"), "label": ["food\t1", "spa\t5", "spa\t1", None]})


def test_a_code_is_its_parts_and_nothing_else() -> None:
    assert joined(["food", "5"]) == "food\t5"
    assert parts_of("food\t5") == ("food", "5")
    assert in_words("fast_food\t5") == "fast food, 5"
    for bad in (["a\tb", "5"], [" ", "5"]):
        with pytest.raises(ValueError, match="no part of a control code"):
            joined(bad)


def test_a_part_has_its_values_and_undeclared_codes_have_none() -> None:
    category, stars = code_parts(TASK, ["category", "stars"])
    assert (category.task.labels, stars.task.labels) == (("food", "spa"), ("1", "5"))
    assert category.view(TABLE)["label"].tolist() == ["food", "spa", None, None]
    assert stars.view(TABLE)["label"].tolist() == ["1", "5", None, None]


def test_plain_classes_have_no_parts_and_a_part_of_one_value_is_left_out() -> None:
    assert code_parts(conf_base(Task, labels="a b"), ["label"]) == code_parts(conf_base(Task, labels="a b"), []) == ()
    same = conf_base(Task, labels=["food\t1", "food\t5"])
    assert [part.name for part in code_parts(same, ["category", "stars"])] == ["stars"]


def test_every_part_is_judged_by_its_own_classes() -> None:
    seen = []

    def judge(task: Task, view: View) -> dict[str, np.ndarray]:
        seen.append((task.labels, view(TABLE)["label"].tolist()))
        return {"true_class": np.arange(2), "given_class": np.arange(2) + len(seen), "texts": np.asarray(len(seen))}

    found = judged_with_parts(judge, TASK, ["category", "stars"])
    assert [labels for labels, _ in seen] == [tuple(CODES), ("food", "spa"), ("1", "5")]
    assert seen[0][1] == TABLE["label"].tolist()
    assert int(found["texts"]) == 1  # of the classes themselves
    assert found["given_class_of_category"].tolist() == [2, 3]
    assert found["given_class_of_stars"].tolist() == [3, 4]
