"""Rates by half-year and their deviations."""

from __future__ import annotations

import json
import random

import pytest

from fedtext.largefedbench.halves import Half, half_of, moved


def half(draw: random.Random, pages: int, share: float) -> Half:
    """Pages of about 50 turns, a share of which is left out; pages differ among themselves."""
    result = Half()
    for _ in range(pages):
        turns, own = draw.randint(30, 70), min(1.0, max(0.0, draw.gauss(share, 0.05)))
        result.add_page(
            {"turns": turns, "words": turns * 100, "left out: chair": round(turns * own), "unknown: label": 0}
        )
    return result


def test_the_deviation_is_that_of_repeated_draws() -> None:
    draw = random.Random(1)
    values = [half(draw, 40, 0.3).rate("left out: chair") for _ in range(400)]
    mean = sum(value for value, _ in values) / 400
    seen = (sum((value - mean) ** 2 for value, _ in values) / 399) ** 0.5
    told = sum(deviation for _, deviation in values) / 400
    assert told == pytest.approx(seen, rel=0.1)


def test_what_stays_is_not_shown_and_what_moves_is() -> None:
    draw = random.Random(2)
    same = sum(
        bool(moved({"2025H1": half(draw, 60, 0.3), "2025H2": half(draw, 60, 0.3)}, "2025H2", 3)) for _ in range(200)
    )
    assert same <= 6  # of 200, at 3 deviations of three counts
    (first, *_) = moved(
        {"2024H2": half(draw, 30, 0.3), "2025H1": half(draw, 30, 0.3), "2025H2": half(draw, 60, 0.4)}, "2025H2", 3
    )
    assert first.name == "left out: chair, per 1,000 turns"
    assert (first.before, first.after) == (pytest.approx(300, rel=0.1), pytest.approx(400, rel=0.1))
    assert first.deviations > 3


def test_fewer_pages_and_fewer_turns_are_shown() -> None:
    draw = random.Random(3)
    halves = {"2025H1": half(draw, 100, 0.3), "2025H2": half(draw, 40, 0.3)}
    assert "pages" in {one.name for one in moved(halves, "2025H2", 3)}
    thin = Half()
    for _ in range(100):
        thin.add_page({"turns": draw.randint(10, 20), "words": 1500})
    assert "turns a page" in {one.name for one in moved({"2025H1": halves["2025H1"], "2025H2": thin}, "2025H2", 3)}


def test_too_few_pages_say_nothing_and_later_halves_do_not_count() -> None:
    draw = random.Random(4)
    assert moved({"2025H1": half(draw, 60, 0.3), "2025H2": half(draw, 4, 0.9)}, "2025H2", 3) == []
    assert moved({"2025H2": half(draw, 60, 0.3), "2026H1": half(draw, 60, 0.9)}, "2025H2", 3) == []
    assert moved({}, "2025H2", 3) == []


def test_sums_of_parts_are_the_sums_of_the_whole() -> None:
    whole, left, right = Half(), Half(), Half()
    for number, part in enumerate([left, right, left]):
        page = {"turns": 3 + number, "removed: vocative": number}
        part.add_page(page)
        whole.add_page(page)
    left.add(Half.from_dict(json.loads(json.dumps(right.as_dict()))))
    assert left == whole


@pytest.mark.parametrize(
    ("date", "name"), [("2025-06-30", "2025H1"), ("2025-07-01", "2025H2"), ("2025-12-31", "2025H2"), ("", "undated")]
)
def test_half_years(date: str, name: str) -> None:
    assert half_of(date) == name
