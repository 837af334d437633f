"""Conditions as lessons: who is labelled how, what a missing class does, and that better texts teach better.

Control codes by their parts: whose label is what, and that a part is judged alone.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fedtext.evaluation.classification import (
    View,
    classify_as_largest,
    classify_by_name,
    classify_condition,
    code_parts,
    compare_classified,
    evaluate_with_parts,
    labelled_texts,
)
from fedtext.evaluation.measures.downstream import CLASS_ACCURACY
from fedtext.evaluation.tasks.classification import classification_tables
from fedtext.params.evaluation import Classification
from fedtext.params.task import Task, in_words, joined, parts_of
from tests.parameters import conf_base
from tests.refusals import refuses

TASK = conf_base(Task, labels="lost_card exchange_rate")
SETTINGS = conf_base(Classification)
OWN = {"lost_card": "card lost stolen gone wallet", "exchange_rate": "rate euro dollar exchange currency"}


class BagEncoder:
    """Unit vectors of counts of known words; a text without any has none."""

    words = sorted({word for said in OWN.values() for word in said.split()})
    dim = len(words)

    def encode(self, texts: list[str], label: str = "", *, undirected_as_zeros: bool = False) -> np.ndarray:
        counts = np.asarray([[text.split().count(word) for word in self.words] for text in texts], dtype=np.float32)
        return counts.reshape(-1, self.dim) / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


ENCODER = BagEncoder()


def table(count: int, seed: int, labels: tuple[str, ...] = ("lost_card", "exchange_rate")) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    of = [labels[i % len(labels)] for i in range(count)]
    texts = [" ".join([*rng.choice(OWN[label].split(), 3), *rng.choice(["my", "the", "is"], 3)]) for label in of]
    return pd.DataFrame({"text": texts, "label": of, "client_id": [f"c{i // 2}" for i in range(count)]})


HELD_OUT = pd.concat([table(40, 0), table(4, 1).assign(label="other"), table(2, 2).assign(label=None)])


def lessons(shown: pd.DataFrame, most: int | None = None) -> dict[str, np.ndarray]:
    found = labelled_texts(shown, TASK, ENCODER, most, seed=0)  # type: ignore[arg-type]
    return classify_condition(found, HELD_OUT, TASK, SETTINGS, ENCODER, label="test")  # type: ignore[arg-type]


def test_texts_of_declared_classes_are_taken_and_others_left_out() -> None:
    shown = pd.concat([table(6, 3), table(3, 4).assign(label="other"), table(1, 5).assign(text="")])
    found = labelled_texts(shown, TASK, ENCODER, None, seed=0)  # type: ignore[arg-type]
    assert len(found.texts) == 6
    assert np.bincount(found.codes).tolist() == [3, 3]
    assert not found.named


def test_texts_without_classes_get_the_nearest_name() -> None:
    shown = table(8, 6)
    found = labelled_texts(shown.assign(label=None), TASK, ENCODER, None, seed=0)  # type: ignore[arg-type]
    assert found.named
    assert np.mean(found.codes == [0, 1] * 4) > 0.7


def test_a_draw_keeps_what_it_is_told_and_is_repeated() -> None:
    first, again = (labelled_texts(table(100, 7), TASK, ENCODER, 30, seed=5) for _ in range(2))  # type: ignore[arg-type]
    assert len(first.texts) == 30
    assert first.texts == again.texts
    assert 8 <= first.codes.sum() <= 22  # classes that take turns are not drawn one in two


def test_the_largest_class_for_every_text_is_right_as_often_as_it_occurs() -> None:
    held_out = pd.DataFrame({"text": ["a"] * 6, "label": [TASK.labels[1]] * 3 + [TASK.labels[0]] + ["other", None]})
    scored = classify_as_largest(held_out, TASK)
    assert scored["given_class"].tolist() == [1] * 6
    assert CLASS_ACCURACY.ratio(scored, np.arange(6)).estimate == pytest.approx(0.75)  # of declared classes
    named = compare_classified(
        {"eps0": scored, "synthetic": scored}, TASK, np.arange(6), "tfidf", untrained="largest_class"
    )
    (table, *_) = classification_tables(named)
    assert table.rows[0][0].startswith("the largest class for every text")


def test_the_largest_class_is_refused_where_figures_are_released_with_noise() -> None:
    asked = conf_base(Classification, untrained="largest_class")
    asked.validate_settings(TASK, dp=False)
    with refuses("largest-class-has-no-release"):
        asked.validate_settings(TASK, dp=True)


@pytest.fixture(scope="module")
def document() -> dict:
    mixed = table(60, 8)
    half_wrong = mixed.assign(label=np.where(np.arange(60) % 3 == 0, "lost_card", mixed["label"]))
    scored = {
        "eps0": classify_by_name(HELD_OUT, TASK, ENCODER),  # type: ignore[arg-type]
        "public_control": lessons(table(20, 9, ("lost_card",))),
        "synthetic": lessons(half_wrong),
        "private": lessons(mixed),
    }
    clients, _ = pd.factorize(HELD_OUT["client_id"], sort=True)
    return compare_classified(scored, TASK, clients, "embeddings")


def test_a_class_without_texts_is_never_found(document: dict) -> None:
    found = document["conditions"]["public_control"]
    assert found["class_accuracy"] == 0.5  # of texts of declared classes: 40 of 46
    assert found["macro_f1"] == pytest.approx(1 / 3)
    assert document["classes"]["public_control"]["by_class"] == [20, 0]


def test_right_lessons_teach_better(document: dict) -> None:
    found = {name: one["class_accuracy"] for name, one in document["conditions"].items()}
    assert found["private"] >= found["synthetic"] > found["public_control"]
    assert found["private"] > 0.9
    assert document["judged"] == "synthetic"
    assert document["gains"]["synthetic"]["public_control"]["measurable"]


def test_only_aggregates_leave(document: dict) -> None:
    written = json.dumps(document)
    assert json.loads(written) == document
    assert "private" not in document["classes"]  # how many private texts a class has is nobody's business
    assert not any(text in written for text in HELD_OUT["text"])
    assert {"macro_f1_low", "macro_f1_high"} <= document["conditions"]["private"].keys()


def test_nothing_to_learn_from_is_refused() -> None:
    with refuses("no-labelled-texts"):
        lessons(table(4, 0).assign(text=""))


CODES = ["food\t1", "food\t5", "spa\t5"]
TASK_CODE_PARTS = conf_base(Task, labels=CODES)
TABLE = pd.DataFrame({"text": list("abcd"), "label": ["food\t1", "spa\t5", "spa\t1", None]})


def test_a_code_is_its_parts_and_nothing_else() -> None:
    assert joined(["food", "5"]) == "food\t5"
    assert parts_of("food\t5") == ("food", "5")
    assert in_words("fast_food\t5") == "fast food, 5"
    for bad in (["a\tb", "5"], [" ", "5"]):
        with refuses("not-a-control-code"):
            joined(bad)


def test_a_part_has_its_values_and_undeclared_codes_have_none() -> None:
    category, stars = code_parts(TASK_CODE_PARTS, ["category", "stars"])
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

    found = evaluate_with_parts(judge, TASK_CODE_PARTS, ["category", "stars"])
    assert [labels for labels, _ in seen] == [tuple(CODES), ("food", "spa"), ("1", "5")]
    assert seen[0][1] == TABLE["label"].tolist()
    assert int(found["texts"]) == 1  # of the classes themselves
    assert found["given_class_of_category"].tolist() == [2, 3]
    assert found["given_class_of_stars"].tolist() == [3, 4]
