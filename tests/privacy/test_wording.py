"""Epsilons as reports write them."""

from __future__ import annotations

import math

import pytest

from fedtext.privacy.wording import number, shown, table


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.91948, "0.9195"), (0.919401, "0.9195"), (1.0, "1"), (0.99999, "1"), (12.3401, "12.35"), (0.0, "0.0")],
)
def test_epsilon_is_rounded_up_never_down(value, words) -> None:
    assert shown(value) == words
    assert shown(math.inf) == "inf"


def test_json_has_a_word_for_infinity() -> None:
    assert (number(math.inf), number(1.5), shown("infinity")) == ("infinity", 1.5, "infinity")


def test_a_table_has_its_rule_below_its_head() -> None:
    assert table(["a", "b"], [["1", "2"]]) == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]
