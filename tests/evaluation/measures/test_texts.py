from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.evaluation.measures.known import measure
from fedtext.evaluation.measures.texts import (
    DISTINCT_2,
    ILLEGIBLE_TEXTS,
    REPEATED_TEXTS,
    distinct_share,
    illegible_share,
    repeated_share,
)
from tests.evaluation.examples import card
from tests.refusals import refuses

TEXTS = st.lists(st.text(alphabet="ab ", max_size=12), max_size=8)


def test_the_share_is_that_of_its_definition_and_no_pair_spans_two_texts() -> None:
    texts = ["The list the LIST", "list the"]  # the-list, list-the, the-list; list-the
    assert distinct_share(texts, 2) == 2 / 4
    assert distinct_share(texts, 1) == 2 / 6
    assert distinct_share(texts, 3) == 1.0
    assert distinct_share(["alone"], 2) == 0.0


@given(TEXTS, st.integers(1, 3))
def test_it_is_a_share_and_repeating_everything_halves_it(texts: list[str], n: int) -> None:
    share = distinct_share(texts, n)
    assert 0 <= share <= 1
    assert distinct_share(texts * 2, n) == pytest.approx(share / 2)


def test_a_larger_set_of_the_same_language_does_not_look_poorer() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(map(str, rng.integers(0, 200, size=50))) for _ in range(2000)]
    few, many = texts[:300], texts
    assert distinct_share(few, 2) == pytest.approx(distinct_share(many, 2), rel=0.02)
    assert distinct_share(many, 2, among=10**6) < 0.6 * distinct_share(few, 2), "as it would without the bound"


def test_a_generator_that_collapses_is_told_from_one_that_does_not() -> None:
    varied = [f"word{i} word{i + 1} word{i + 2}" for i in range(100)]
    assert distinct_share(varied[:5] * 20, 2) < 0.1 < distinct_share(varied, 2)


def test_it_is_known_by_name_and_kept_with_what_is_taken_of_texts_alone() -> None:
    assert measure("distinct_2") is DISTINCT_2
    found = card(texts={"measures": ["distinct_2"], "sets": {"synthetic": {"distinct_2": 0.81, "texts": 9}}})
    assert DISTINCT_2.shown(DISTINCT_2.within(found, "synthetic")) == "81.0%"


TEXTS_REPEATED_TEXTS = st.lists(st.text(), min_size=1, max_size=20)


def test_case_and_spacing_make_no_difference() -> None:
    assert repeated_share(["Return the list.", "return  the\nlist. ", "raise"]) == pytest.approx(1 / 3)


@given(TEXTS_REPEATED_TEXTS)
def test_saying_everything_again_adds_as_many_repeats(texts: list[str]) -> None:
    once, twice = repeated_share(texts), repeated_share(texts * 2)
    assert 0 <= once < 1
    assert twice == pytest.approx((1 + once) / 2)


@given(TEXTS_REPEATED_TEXTS, st.randoms())
def test_the_order_makes_no_difference(texts: list[str], random) -> None:
    assert repeated_share(random.sample(texts, len(texts))) == repeated_share(texts)


def test_no_text_is_refused() -> None:
    with refuses("no-texts-to-compare"):
        repeated_share([])


def test_fewer_repeats_are_better_and_written_as_a_percentage() -> None:
    assert REPEATED_TEXTS.shown(0.125) == "12.5%"
    assert REPEATED_TEXTS.improvement(0.1) < 0


GOOD, LOOP = "Why was my card declined?", "the fee is the fee is the fee is the fee is the fee"


def test_loops_count_and_sentences_do_not() -> None:
    assert illegible_share([GOOD, LOOP, GOOD, "Dear [Your Name]"]) == pytest.approx(0.5)
    assert illegible_share([GOOD]) == 0


def test_it_is_found_by_its_name() -> None:
    assert measure("illegible_texts") is ILLEGIBLE_TEXTS


def test_no_text_is_refused_illegible_texts() -> None:
    with refuses("no-texts-to-read"):
        illegible_share([])
