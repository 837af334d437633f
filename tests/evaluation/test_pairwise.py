"""Pairwise accuracy: by hand, odd under flips, half for random labels; and why a pair's own cluster is never used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.scorers import by_drawn_head, by_mixture
from fedtext.evaluation.pairwise import correctly_ordered, length_baselines
from tests.refusals import refuses

HEADS = np.array([[1.0, 0.0], [0.0, 1.0]])
MIXTURE = np.array([0.75, 0.25])
NUMBERS = st.floats(-3, 3).map(lambda x: round(x, 2))


def test_by_hand() -> None:
    differences = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 9.0], [0.0, 0.0]])
    assert by_drawn_head(HEADS, MIXTURE, differences).tolist() == [1.0, 0.75, 0.25, 0.5]
    assert by_mixture(HEADS, MIXTURE, differences).tolist() == [1.0, 1.0, 0.0, 0.5]


def test_many_sure_heads_outvote_one_only_by_their_share() -> None:
    """sigmoid saturates: the larger share wins however far the other head is ahead."""
    assert by_mixture(HEADS, np.array([0.4, 0.6]), np.array([[50.0, -9.0]]))[0] == 0.0


@given(arrays(np.float64, (3, 2), elements=NUMBERS), arrays(np.float64, (4, 2), elements=NUMBERS))
def test_flipped_pairs_are_ordered_the_other_way(heads: np.ndarray, differences: np.ndarray) -> None:
    mixture = np.array([0.2, 0.3, 0.5])
    for judged in (by_drawn_head, by_mixture):
        there, back = judged(heads, mixture, differences), judged(heads, mixture, -differences)
        np.testing.assert_allclose(there + back, 1.0, atol=1e-12)


@pytest.mark.parametrize("mixture", [np.array([0.5]), np.array([0.9, 0.2]), np.array([1.5, -0.5])])
def test_a_mixture_of_other_heads_is_refused(mixture: np.ndarray) -> None:
    with refuses("mixture-is-no-distribution"):
        by_drawn_head(HEADS, mixture, np.zeros((1, 2)))


def test_random_labels_give_a_half_and_the_own_cluster_would_give_them_nearly_all() -> None:
    """Two clusters of coin-flip differences: their centroids as heads tell nothing, unless each pair has its own."""
    rng = np.random.default_rng(0)
    differences = rng.normal(size=(4000, 8)) * np.linspace(2.0, 0.2, 8)
    differences *= rng.choice([-1, 1], size=(4000, 1))
    positive = differences[:, 0] > 0
    heads = np.stack([differences[positive].mean(axis=0), differences[~positive].mean(axis=0)])
    mixture = np.array([positive.mean(), 1 - positive.mean()])
    fresh = rng.normal(size=(4000, 8)) * np.linspace(2.0, 0.2, 8)
    for judged in (by_drawn_head, by_mixture):
        assert judged(heads, mixture, fresh).mean() == pytest.approx(0.5, abs=0.03)
    own = heads[np.argmax(fresh @ heads.T, axis=1)]
    assert correctly_ordered((own * fresh).sum(axis=1)).mean() > 0.95


def test_an_answer_of_the_same_length_is_a_coin() -> None:
    assert length_baselines(["ab"], ["cd"]) == {"longer": np.array([0.5]), "shorter": np.array([0.5])}
