"""Accuracy and macro-F1 of classes: scikit-learn's numbers, and intervals that hold what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from fedtext.evaluation.measures.classification import CLASS_ACCURACY, GIVEN, MACRO_F1, TRUE
from fedtext.evaluation.measures.known import measure, of_sets

CODES = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 3)), min_size=1, max_size=40)


def scored(pairs: list[tuple[int, int]]) -> dict[str, np.ndarray]:
    true, said = np.asarray(pairs).T
    return {TRUE: true, GIVEN: said}


@given(CODES)
def test_they_are_scikit_learn_s_over_texts_of_declared_classes(pairs: list[tuple[int, int]]) -> None:
    known = [pair for pair in pairs if pair[0] >= 0]
    if not known:
        with pytest.raises(ValueError, match="hold no"):
            MACRO_F1.ratio(scored(pairs))
        return
    true, said = np.asarray(known).T
    expected = f1_score(true, said, labels=np.unique(true), average="macro", zero_division=0)
    assert MACRO_F1.ratio(scored(pairs)).estimate == pytest.approx(expected)
    assert CLASS_ACCURACY.ratio(scored(pairs)).estimate == pytest.approx(np.mean(true == said))


def test_a_class_that_is_never_found_has_an_f1_of_0() -> None:
    assert MACRO_F1.ratio(scored([(0, 0), (0, 0), (1, 0)])).estimate == pytest.approx((2 * 2 / 5 + 0) / 2)


def drawn(rng: np.random.Generator, clients: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three classes, unbalanced; a client's texts are of one class and found or missed together."""
    own = rng.choice(3, clients, p=[0.6, 0.3, 0.1])
    found = np.where(rng.random(clients) < 0.7, own, (own + 1) % 3)
    texts = rng.integers(1, 6, clients)
    return {TRUE: np.repeat(own, texts), GIVEN: np.repeat(found, texts)}, np.repeat(np.arange(clients), texts)


def covered(*, by_client: bool, runs: int = 300) -> float:
    """Share of 95% intervals of macro-F1 that hold the value of the whole population."""
    rng = np.random.default_rng(0)
    truth = MACRO_F1.ratio(drawn(np.random.default_rng(1), 200_000)[0]).estimate
    hits = 0
    for _ in range(runs):
        sample, clients = drawn(rng, 400)
        found = MACRO_F1.ratio(sample, clients if by_client else None)
        hits += found.low <= truth <= found.high
    return hits / runs


def test_the_interval_of_macro_f1_holds_its_value_and_needs_the_clients() -> None:
    assert 0.91 <= covered(by_client=True) <= 0.985
    assert covered(by_client=False) < 0.88  # texts of a client are not draws of their own: this must be seen


def test_one_client_tells_nothing_of_others() -> None:
    assert MACRO_F1.ratio(scored([(0, 0), (1, 0)]), np.zeros(2, dtype=int)).standard_error == np.inf


def test_they_are_known_by_name_and_are_no_measures_of_sets() -> None:
    assert (measure("class_accuracy"), measure("macro_f1")) == (CLASS_ACCURACY, MACRO_F1)
    with pytest.raises(ValueError, match="macro_f1: taken on held-out texts"):
        of_sets(["macro_f1"])
