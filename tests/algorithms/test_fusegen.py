"""FuseGen's choice of examples, against its definitions computed one text at a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms.fusegen import (
    chosen_examples,
    classifier_probabilities,
    influence,
    validate_generator_count,
    variability,
)
from fedtext.params.labelled import Fusegen
from tests.parameters import conf_base
from tests.refusals import refuses

RNG = np.random.default_rng(0)
SAID = RNG.dirichlet(np.ones(3), size=(2, 9))
FEATURES = RNG.normal(size=(9, 4))
CODES = np.arange(9) % 3


def test_variability_is_the_deviation_of_the_own_class_over_classifiers() -> None:
    one_by_one = [np.std([SAID[k, t, CODES[t]] for k in range(2)]) for t in range(9)]
    assert variability(SAID, CODES) == pytest.approx(one_by_one)
    assert variability(SAID[[0, 0]], CODES) == pytest.approx(np.zeros(9))


def test_influence_is_what_a_step_on_the_text_takes_off_the_loss_of_all() -> None:
    """By finite differences, of a linear softmax model that gives these probabilities."""
    weights = RNG.normal(size=(4, 3))

    def losses(w: np.ndarray) -> np.ndarray:
        logits = FEATURES @ w
        return np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(9), CODES]

    said = np.exp(FEATURES @ weights) / np.exp(FEATURES @ weights).sum(axis=1, keepdims=True)
    for text in (0, 4):
        gradient = np.outer(FEATURES[text], said[text] - np.eye(3)[CODES[text]])
        fall = (losses(weights).mean() - losses(weights - 1e-6 * gradient).mean()) / 1e-6
        assert influence(said[None], FEATURES, CODES)[text] == pytest.approx(fall, rel=1e-4)


def world(texts: int = 60) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    codes = np.arange(texts) % 2
    features = np.random.default_rng(1).normal(size=(texts, 5)) + 2 * np.eye(5)[codes]
    writers = np.where(np.arange(texts) % 4 < 2, "a", "b")
    told = pd.DataFrame({"text": [f"text {i}" for i in range(texts)], "label": codes.astype(str), "generator": writers})
    return told, features, codes


def test_candidates_are_of_least_and_greatest_variability_and_the_most_influential_are_shown() -> None:
    texts, features, codes = world()
    fusegen = conf_base(Fusegen, candidates=6, shown=4)
    found = chosen_examples(texts, features, codes, 2, fusegen)
    assert found["label"].value_counts().to_dict() == {"0": 4, "1": 4}
    said = classifier_probabilities(texts["generator"].tolist(), features, codes, 2, penalty=fusegen.penalty)
    spread = variability(said, codes)
    own = np.sort(spread[codes == 0])
    allowed = {*own[:3], *own[-3:]}
    assert set(found.loc[found["label"] == "0", "variability"]) <= allowed
    assert (np.diff(found.loc[found["label"] == "0", "influence"]) <= 0).all()


def test_a_class_with_fewer_texts_than_are_shown_shows_all() -> None:
    texts, features, codes = world(8)
    assert len(chosen_examples(texts, features, codes, 2, conf_base(Fusegen))) == 8


def test_a_generator_of_one_class_has_no_say_and_two_must_have_one() -> None:
    texts, features, codes = world()
    writers = np.where(codes == 0, "silly", texts["generator"])
    with refuses("too-few-usable-generators"):
        classifier_probabilities(writers.tolist(), features, codes, 2, penalty=1.0)
    with refuses("too-few-generators", value=1):
        validate_generator_count(["a"])


def test_a_larger_choice_than_there_are_candidates_is_refused() -> None:
    with refuses("more-shown-than-candidates", value=8):
        conf_base(Fusegen, candidates=4)
