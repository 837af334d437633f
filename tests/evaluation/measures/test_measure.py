"""How a measure is written, read from a scorecard, and which way it is better."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.evaluation.measures.measure import NATS, SHARE, Counts, Direction, Measure, PerText, TextProperty
from tests.refusals import refuses


def plain(**changed: object) -> Measure:
    return Measure(**{"name": "m", "title": "a title", "direction": Direction.HIGHER, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("measure", "shown", "change"),
    [
        (plain(unit=SHARE, decimals=1), "12.3%", "+12.3"),
        (plain(unit=NATS, decimals=2), "0.12 nats", "+0.12"),
        (plain(), "0.123", "+0.123"),
    ],
)
def test_numbers_are_written_in_the_measure_s_unit(measure: Measure, shown: str, change: str) -> None:
    assert measure.shown(0.12345) == shown
    assert measure.change(0.12345) == change
    assert measure.change(-0.12345) == change.replace("+", "-")
    assert measure.shown(None) == "–"


def test_a_measure_is_called_by_its_title_where_it_has_no_shorter_name() -> None:
    assert (plain().noun, plain().column) == ("a title", "a title")
    assert (plain(noun="short").noun, plain(column="head").column) == ("short", "head")


def test_an_improvement_is_positive_whichever_way_is_better() -> None:
    assert plain().improvement(0.1) == plain(direction=Direction.LOWER).improvement(-0.1) == 0.1
    assert plain(direction=Direction.LOWER).direction.word == "lower"


def test_a_value_that_was_not_taken_is_none() -> None:
    measure = TextProperty(name="m", title="t", direction=Direction.LOWER, value=len)
    card = {"texts": {"sets": {"synthetic": {"m": 3.0}, "public_control": {}}}}
    assert measure.within(card, "synthetic") == 3.0
    for missing in (card, {"texts": None}, {}):
        assert measure.within(missing, "public_control") is None


def test_a_ratio_is_that_of_the_sums_and_nothing_to_count_is_an_error() -> None:
    measure = PerText(
        name="m",
        title="hits",
        direction=Direction.HIGHER,
        counted="shots",
        counts=lambda s: Counts(s["hit"], s["shot"]),
    )
    found = measure.ratio({"hit": np.array([1, 5]), "shot": np.array([10, 10])})
    assert found.estimate == 0.3
    assert found.low < 0.3 < found.high
    with refuses("nothing-held-out-to-score"):
        measure.ratio({"hit": np.zeros(2), "shot": np.zeros(2)})
