"""Keywords: tf-idf by hand, words that tell nothing left out, and none that a single text alone has."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from fedtext.algorithms.ctcl.keywords import Keywords
from tests.algorithms.ctcl.examples import LAND, SEA

TEXTS = [*SEA, *LAND]


def test_a_topic_is_named_by_its_own_words_and_not_by_everybody_s() -> None:
    known = Keywords(TEXTS)
    assert known.of(SEA, 2) == ("harbour", "ship")
    assert known.of(LAND, 3) == ("field", "farm", "wheat")
    assert not {"the", "in", "full", "was"} & {*known.of(SEA, 9), *known.of(LAND, 9)}


def test_a_text_s_words_are_ranked_by_tf_times_idf() -> None:
    """By hand: 'a' twice in the text and in 3 of 4 texts, 'b' once and in 2, 'c' once and in all."""
    known = Keywords(["a a b c", "a b c", "a c", "c"])
    a, b = (1 + math.log(2)) * math.log(4 / 3), math.log(4 / 2)
    assert b > a > 0
    assert known.of(["a a b c"], 3) == ("b", "a")


def test_what_one_text_alone_has_names_nothing_and_no_word_is_a_number_or_a_mark() -> None:
    known = Keywords(["unique 77, word", "word 77, other", "other"])
    assert known.of(["unique 77, word"], 5) == ("word",)
    assert known.of([""], 5) == known.of(["unheard"], 5) == ()


@given(st.permutations(TEXTS), st.integers(1, 6))
def test_the_order_of_texts_and_the_number_asked_for_change_no_rank(texts: list[str], count: int) -> None:
    assert Keywords(texts).of(SEA[::-1], count) == Keywords(TEXTS).of(SEA, 6)[:count]
