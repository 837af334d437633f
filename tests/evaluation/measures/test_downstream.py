"""Accuracy and macro-F1 of classes: scikit-learn's numbers, and intervals that hold what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from fedtext.evaluation.measures.downstream import (
    CLASS_ACCURACY,
    GIVEN,
    MACRO_F1,
    TRUE,
    WEIGHTED_F1,
    MeanF1,
    class_accuracy,
    macro_f1,
    weighted_f1,
)
from fedtext.evaluation.measures.known import measure, set_measures
from tests.refusals import refuses

CODES = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 3)), min_size=1, max_size=40)


def scored(pairs: list[tuple[int, int]]) -> dict[str, np.ndarray]:
    true, said = np.asarray(pairs).T
    return {TRUE: true, GIVEN: said}


@given(CODES)
def test_they_are_scikit_learn_s_over_texts_of_declared_classes(pairs: list[tuple[int, int]]) -> None:
    known = [pair for pair in pairs if pair[0] >= 0]
    if not known:
        with refuses("no-declared-class-held-out"):
            MACRO_F1.ratio(scored(pairs))
        return
    true, said = np.asarray(known).T
    for measure_, average in ((MACRO_F1, "macro"), (WEIGHTED_F1, "weighted")):
        expected = f1_score(true, said, labels=np.unique(true), average=average, zero_division=0)
        assert measure_.ratio(scored(pairs)).estimate == pytest.approx(expected)
    assert CLASS_ACCURACY.ratio(scored(pairs)).estimate == pytest.approx(np.mean(true == said))


def test_a_class_that_is_never_found_has_an_f1_of_0() -> None:
    assert MACRO_F1.ratio(scored([(0, 0), (0, 0), (1, 0)])).estimate == pytest.approx((2 * 2 / 5 + 0) / 2)


def test_always_giving_the_largest_class_has_the_weighted_f1_that_a_paper_prints() -> None:
    """Flexible participation (2603.07027), Table 1: 44.14% of the reviews have five stars, and its F1 of 27.0 is that."""
    stars = [(4, 4)] * 4414 + [(3, 4)] * 2000 + [(2, 4)] * 1400 + [(1, 4)] * 1186 + [(0, 4)] * 1000
    assert CLASS_ACCURACY.ratio(scored(stars)).estimate == pytest.approx(0.4414)
    assert WEIGHTED_F1.shown(WEIGHTED_F1.ratio(scored(stars)).estimate) == "27.0%"
    assert MACRO_F1.shown(MACRO_F1.ratio(scored(stars)).estimate) == "12.2%"


def test_a_part_of_the_classes_has_codes_and_names_of_its_own() -> None:
    both = scored([(0, 0), (1, 0)]) | {
        "true_class_of_stars": np.asarray([3, 3]),
        "given_class_of_stars": np.asarray([3, 1]),
    }
    assert class_accuracy("stars").ratio(both).estimate == 0.5
    assert macro_f1("stars").ratio(both).estimate == pytest.approx(2 / 3)
    assert MACRO_F1.ratio(both).estimate == MACRO_F1.ratio(scored([(0, 0), (1, 0)])).estimate
    assert [measure(f"{name}_of_stars") for name in ("class_accuracy", "macro_f1", "weighted_f1")] == [
        class_accuracy("stars"), macro_f1("stars"), weighted_f1("stars")
    ]  # fmt: skip
    with refuses("unknown-measure", value="micro_f1_of_stars"):
        measure("micro_f1_of_stars")


def drawn(rng: np.random.Generator, clients: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three classes, unbalanced; a client's texts are of one class and found or missed together."""
    own = rng.choice(3, clients, p=[0.6, 0.3, 0.1])
    found = np.where(rng.random(clients) < 0.7, own, (own + 1) % 3)
    texts = rng.integers(1, 6, clients)
    return {TRUE: np.repeat(own, texts), GIVEN: np.repeat(found, texts)}, np.repeat(np.arange(clients), texts)


def covered(*, by_client: bool, runs: int = 300, f1: MeanF1 = MACRO_F1) -> float:
    """Share of 95% intervals of a mean F1 that hold the value of the whole population."""
    rng = np.random.default_rng(0)
    truth = f1.ratio(drawn(np.random.default_rng(1), 200_000)[0]).estimate
    hits = 0
    for _ in range(runs):
        sample, clients = drawn(rng, 400)
        found = f1.ratio(sample, clients if by_client else None)
        hits += found.low <= truth <= found.high
    return hits / runs


def test_the_interval_of_macro_f1_holds_its_value_and_needs_the_clients() -> None:
    assert 0.91 <= covered(by_client=True) <= 0.985
    assert 0.91 <= covered(by_client=True, f1=WEIGHTED_F1) <= 0.985
    assert covered(by_client=False) < 0.88  # texts of a client are not draws of their own: this must be seen


def test_one_client_tells_nothing_of_others() -> None:
    assert MACRO_F1.ratio(scored([(0, 0), (1, 0)]), np.zeros(2, dtype=int)).standard_error == np.inf


def test_they_are_known_by_name_and_are_no_measures_of_sets() -> None:
    assert (measure("class_accuracy"), measure("macro_f1")) == (CLASS_ACCURACY, MACRO_F1)
    with refuses("measure-on-held-out-texts"):
        set_measures(["macro_f1"])
