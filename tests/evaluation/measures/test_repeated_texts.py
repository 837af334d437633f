from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.evaluation.measures.repeated_texts import REPEATED_TEXTS, repeated_share

TEXTS = st.lists(st.text(), min_size=1, max_size=20)


def test_case_and_spacing_make_no_difference() -> None:
    assert repeated_share(["Return the list.", "return  the\nlist. ", "raise"]) == pytest.approx(1 / 3)


@given(TEXTS)
def test_saying_everything_again_adds_as_many_repeats(texts: list[str]) -> None:
    once, twice = repeated_share(texts), repeated_share(texts * 2)
    assert 0 <= once < 1
    assert twice == pytest.approx((1 + once) / 2)


@given(TEXTS, st.randoms())
def test_the_order_makes_no_difference(texts: list[str], random) -> None:
    assert repeated_share(random.sample(texts, len(texts))) == repeated_share(texts)


def test_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        repeated_share([])


def test_fewer_repeats_are_better_and_written_as_a_percentage() -> None:
    assert REPEATED_TEXTS.shown(0.125) == "12.5%"
    assert REPEATED_TEXTS.improvement(0.1) < 0
