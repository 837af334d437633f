"""Precision and recall of sets: by hand, by brute force, and told apart by collapse and by noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.evaluation.distribution import HeldOut
from fedtext.evaluation.measures.distances import compared, floors
from fedtext.evaluation.measures.known import measure
from fedtext.evaluation.measures.manifolds import FEWEST, PRECISION, RECALL, on_manifold, precision, recall
from fedtext.reporting.tables import distance_table
from tests.evaluation.examples import HELD_OUT, card, cloud, distribution

BOTH = (PRECISION, RECALL)
REFERENCE = HeldOut.of(HELD_OUT, smallest_set=240)


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


def test_balls_reach_to_the_nearest_other_text() -> None:
    """By hand, k = 1: the texts 0, 1 and 10 have balls of radius 1, 1 and 9."""
    found = on_manifold(column(1.5, -2.0, -0.9, 18.0, 19.5), column(0, 1, 10), neighbours=1)
    assert found.tolist() == [True, False, True, True, False]


def test_balls_of_the_second_nearest_are_wider() -> None:
    """By hand, k = 2: radii 10, 9 and 10."""
    found = on_manifold(column(-9.5, -10.5, 19.9, 20.5), column(0, 1, 10), neighbours=2)
    assert found.tolist() == [True, False, True, False]


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(6, 30), st.integers(1, 30))
def test_it_is_what_the_definition_says(seed: int, neighbours: int, texts: int, points: int) -> None:
    rng = np.random.default_rng(seed)
    reference, asked = rng.normal(size=(texts, 3)), rng.normal(size=(points, 3)) * 2
    found = on_manifold(asked, reference, neighbours)
    for point, inside in zip(asked, found, strict=True):
        in_ball = False
        for number, centre in enumerate(reference):
            others = np.delete(reference, number, axis=0)
            reach = np.sort(np.linalg.norm(others - centre, axis=1))[neighbours - 1]
            in_ball |= bool(np.linalg.norm(point - centre) <= reach)
        assert inside == in_ball


def test_collapse_shows_in_the_recall_and_noise_in_the_precision() -> None:
    rng = np.random.default_rng(5)
    collapsed = HELD_OUT[[3, 500, 900]][rng.integers(3, size=240)] + rng.normal(scale=1e-3, size=(240, 12))
    noise = rng.normal(size=(240, 12)) * 10
    same, few, scattered = (compared(REFERENCE, texts, BOTH) for texts in (cloud(240, 3), collapsed, noise))
    assert same["precision"] > 0.7
    assert same["recall"] > 0.7
    assert few["precision"] > 0.9  # what is repeated is real
    assert few["recall"] < 0.1
    assert scattered["precision"] == 0


def test_half_of_the_kinds_have_half_of_the_recall() -> None:
    rng = np.random.default_rng(6)
    kinds = np.eye(12)[rng.integers(4, size=600)] * 20 + rng.normal(size=(600, 12))
    half = np.eye(12)[rng.integers(2, size=300)] * 20 + rng.normal(size=(300, 12))
    row = compared(HeldOut.of(kinds, smallest_set=240), half, BOTH)
    assert row["precision"] > 0.7
    assert row["recall"] == pytest.approx(0.5, abs=0.12)


def test_one_is_the_other_with_the_sets_exchanged() -> None:
    ours, theirs = cloud(60, 1), HELD_OUT[:60]
    assert precision(ours, theirs) == recall(theirs, ours)


def test_copies_of_held_out_text_lie_on_its_manifold() -> None:
    assert precision(HELD_OUT[:100], HELD_OUT[:100]) == 1.0


def test_a_floor_is_what_two_samples_of_one_text_have() -> None:
    taken = floors(REFERENCE, BOTH)
    assert 0.7 < taken["precision"].mean == taken["recall"].mean < 1


def test_a_floor_is_told_in_the_unit_of_what_it_is_compared_with() -> None:
    taken = floors(REFERENCE, BOTH)
    sets = {"synthetic": compared(REFERENCE, cloud(240, 3), BOTH)}
    made = card(distribution=distribution().model_copy(update={"sets": sets, "floors": taken}))
    caption, _, last_row = distance_table(made["distribution"]).partition("held-out text against itself")
    assert "larger is better of: precision, recall)" in caption
    shown = PRECISION.shown(taken["precision"].mean)
    assert shown.endswith("%")
    assert last_row.count(shown) == 2
    (said,) = (limit for limit in made["limits"] if limit.startswith("precision of the set"))
    assert f" is {shown} ± " in said
    assert said.endswith("not with 100%.")


def test_few_texts_have_none() -> None:
    few = HeldOut.of(HELD_OUT, smallest_set=FEWEST - 1)
    assert compared(few, cloud(40, 1), BOTH) == {"precision": None, "recall": None, "texts": 40}
    assert floors(few, BOTH) == {}


def test_they_are_known_by_their_names() -> None:
    assert [measure(one.name) for one in BOTH] == list(BOTH)
