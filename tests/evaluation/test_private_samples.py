"""Draws of private samples, their median, and what texts are worth on the curve."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.evaluation.measures.next_token_accuracy import ACCURACY, CROSS_ENTROPY
from fedtext.evaluation.private_samples import draw_private_samples, median_draw, sample_curve, stacked, worth
from fedtext.params.evaluation import Evaluation
from tests.parameters import conf_base

SAMPLES = pd.DataFrame({"text": [f"text {i}" for i in range(60)], "client_id": [f"client {i % 40}" for i in range(60)]})


def scored(right: int, size: int) -> dict[str, np.ndarray]:
    counts = {"top": np.array([1]), "correct": np.full((20, 1), right), "tokens": np.full(20, 100)}
    return {**counts, "nats": np.full(20, 600.0 - right), "texts": np.asarray(size)}


def test_the_largest_size_is_drawn_several_times_and_smaller_ones_once() -> None:
    evaluation = conf_base(Evaluation, private_texts=30, private_draws=3, private_curve=[10, 20, 40])
    draws = draw_private_samples(SAMPLES, evaluation)
    assert [(draw.size, len(draw.texts)) for draw in draws] == [(30, 30)] * 3 + [(10, 10), (20, 20)]
    assert len({tuple(draw.texts) for draw in draws}) == 5
    assert len({draw.label for draw in draws}) == 5


@pytest.mark.parametrize("most", [None, 60, 400])
def test_all_samples_are_one_draw(most: int | None) -> None:
    evaluation = conf_base(Evaluation, private_texts=most, private_draws=3, private_curve=[])
    assert [len(draw.texts) for draw in draw_private_samples(SAMPLES, evaluation)] == [60]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=7))
def test_the_median_draw_has_the_median_level(levels: list[int]) -> None:
    chosen = levels[median_draw(ACCURACY, [scored(level, 30) for level in levels])]
    assert chosen == sorted(levels)[(len(levels) - 1) // 2]


def test_the_curve_has_a_row_a_size_with_the_median_of_its_draws() -> None:
    sets = [scored(30, 350), scored(20, 350), scored(24, 350), scored(15, 50)]
    small, large = sample_curve(stacked(sets), [ACCURACY, CROSS_ENTROPY])
    assert (small["texts"], small["draws"], small["top_1"]) == (50, 1, 0.15)
    assert (large["texts"], large["draws"], large["top_1"]) == (350, 3, 0.24)
    assert (large["low"], large["high"]) == (0.20, 0.30)
    assert large["cross_entropy"] == pytest.approx(5.76)


CURVE = [{"texts": 50, "top_1": 0.10}, {"texts": 100, "top_1": 0.20}, {"texts": 350, "top_1": 0.30}]


@pytest.mark.parametrize(
    ("level", "samples"), [(0.20, 100), (0.15, 75), (0.25, 225), (0.06, 10), (0.05, 0), (0.01, 0), (0.31, None)]
)
def test_a_set_is_worth_as_many_private_samples_as_reach_its_level(level: float, samples: int | None) -> None:
    found = worth(ACCURACY, CURVE, {"eps0": 0.05, "synthetic": level, "private": 0.30})
    assert found == {"samples": {"synthetic": samples}, "most": 350}


def test_where_more_samples_did_worse_the_curve_stays_at_its_best() -> None:
    dip = [{"texts": 50, "top_1": 0.20}, {"texts": 100, "top_1": 0.10}, {"texts": 350, "top_1": 0.30}]
    assert worth(ACCURACY, dip, {"eps0": 0.05, "synthetic": 0.19})["samples"]["synthetic"] < 50
    assert worth(ACCURACY, dip, {"eps0": 0.05, "synthetic": 0.25})["samples"]["synthetic"] == 225


def test_where_less_is_better_the_curve_falls() -> None:
    curve = [{"texts": 100, "cross_entropy": 5.0}]
    assert worth(CROSS_ENTROPY, curve, {"eps0": 6.0, "synthetic": 5.5})["samples"]["synthetic"] == 50


def test_private_samples_that_teach_nothing_measure_nothing() -> None:
    assert worth(ACCURACY, [{"texts": 50, "top_1": 0.04}], {"eps0": 0.05, "synthetic": 0.2}) == {}
