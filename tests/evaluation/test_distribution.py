from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from fedtext.evaluation.distribution import (
    FID_TEXTS,
    HeldOut,
    fit_pca,
    frechet_distance,
    mean_gap,
    median_distance_to_medoid,
    mmd_squared,
    self_distance,
)
from tests.refusals import refuses

SEEDS = st.integers(0, 2**32 - 1)


def unit(rng: np.random.Generator, texts: int, dim: int, shift: float = 0.0) -> np.ndarray:
    x = rng.normal(size=(texts, dim)) + shift * np.eye(dim)[0]
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@settings(max_examples=25)
@given(SEEDS, st.integers(2, 60), st.integers(1, 40))
def test_identical_sets_are_at_distance_zero_whatever_the_rank(seed, texts, dim):
    x = np.random.default_rng(seed).normal(size=(texts, dim))
    assert frechet_distance(x, x) == pytest.approx(0, abs=1e-9)


@settings(max_examples=25)
@given(SEEDS, st.integers(2, 60), st.integers(2, 60))
def test_symmetric_and_independent_of_the_order_of_texts(seed, n, m):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, 8)), rng.normal(size=(m, 8)) * 2
    assert frechet_distance(a, b) == pytest.approx(frechet_distance(b, a), abs=1e-9)
    assert frechet_distance(a, b) == pytest.approx(frechet_distance(rng.permutation(a), b), abs=1e-9)


def test_shift_alone_is_the_squared_mean_gap():
    x = np.random.default_rng(0).normal(size=(50, 6))
    shift = np.arange(6.0)
    assert frechet_distance(x, x + shift) == pytest.approx(shift @ shift)
    assert mean_gap(x, x + shift) == pytest.approx(shift @ shift)


def test_known_gaussians_in_closed_form():
    """Commuting covariances: |mu|^2 + sum (s_a - s_b)^2."""
    rng = np.random.default_rng(1)
    s_a, s_b, mu = np.array([1.0, 2.0, 0.5]), np.array([2.0, 1.0, 0.5]), np.array([1.0, 0.0, -1.0])
    a, b = rng.normal(size=(200_000, 3)) * s_a, rng.normal(size=(200_000, 3)) * s_b + mu
    assert frechet_distance(a, b) == pytest.approx(mu @ mu + np.sum((s_a - s_b) ** 2), rel=0.02)


def test_agrees_with_the_dense_matrix_square_root():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(80, 12)) @ rng.normal(size=(12, 12)), rng.normal(size=(70, 12))
    c_a, c_b = np.cov(a.T), np.cov(b.T)
    gap = a.mean(0) - b.mean(0)
    expected = gap @ gap + np.trace(c_a + c_b - 2 * sqrtm(c_a @ c_b).real)
    assert frechet_distance(a, b) == pytest.approx(expected, rel=1e-8)


def test_fewer_texts_than_dimensions_is_real_and_finite():
    rng = np.random.default_rng(3)
    distance = frechet_distance(unit(rng, 20, 384), unit(rng, 15, 384))
    assert isinstance(distance, float)
    assert 0 < distance < 4


@pytest.mark.parametrize(
    ("a", "b", "code"),
    [
        (np.zeros((1, 3)), np.zeros((5, 3)), "too-few-texts-for-distribution"),
        (np.zeros((5, 3)), np.zeros((5, 4)), "dimensions-differ"),
        (np.full((5, 3), np.nan), np.zeros((5, 3)), "embeddings-not-finite"),
    ],
)
def test_bad_embeddings_are_refused(a, b, code):
    with refuses(code):
        frechet_distance(a, b)


def test_bias_is_what_a_perfect_copy_would_show_and_shrinks_with_size():
    rng = np.random.default_rng(4)
    x = unit(rng, 2000, 32)
    small, large = self_distance(frechet_distance, x, 50, 5, rng), self_distance(frechet_distance, x, 400, 5, rng)
    assert small.size == 50
    assert large.mean < small.mean / 4
    fresh = frechet_distance(unit(rng, 400, 32), unit(rng, 400, 32))
    assert large.mean == pytest.approx(fresh, rel=0.2)
    assert frechet_distance(unit(rng, 400, 32, shift=1.0), x[:400]) > large.mean + 10 * large.stddev
    assert self_distance(frechet_distance, x, 5000, 1, rng).size == 1000


def test_bias_needs_two_halves():
    with refuses("too-few-texts-for-floor"):
        self_distance(frechet_distance, np.zeros((3, 2)), 10, 1, np.random.default_rng(0))


def test_mmd_is_unbiased_and_sees_a_shift():
    rng = np.random.default_rng(5)
    same = [mmd_squared(unit(rng, 60, 16), unit(rng, 80, 16)) for _ in range(60)]
    assert abs(np.mean(same)) < 3 * np.std(same) / np.sqrt(60)
    assert min(same) < 0
    assert mmd_squared(unit(rng, 200, 16, shift=2.0), unit(rng, 200, 16)) > 10 * np.std(same)


def test_mmd_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(6)
    a, b = unit(rng, 30, 8), unit(rng, 41, 8)
    whole = mmd_squared(a, b)
    monkeypatch.setattr("fedtext.evaluation.distribution.ROWS_AT_ONCE", 7)
    assert mmd_squared(a, b) == pytest.approx(whole, rel=1e-12)


def test_median_distance_is_measured_from_the_medoid():
    x = np.array([[0.0], [1.0], [2.0], [3.0], [100.0]])  # the medoid is 2; distances 2 1 0 1 98
    assert median_distance_to_medoid(x) == pytest.approx(1.0)
    rng = np.random.default_rng(7)
    cloud = rng.normal(size=(100, 4))
    assert median_distance_to_medoid(0.1 * cloud) == pytest.approx(0.1 * median_distance_to_medoid(cloud))
    with refuses("no-embeddings"):
        median_distance_to_medoid(np.zeros((0, 3)))


def test_one_size_makes_sets_of_any_size_comparable():
    """The full FID of a larger set is smaller by bias alone; at one size the same text reads the same."""
    rng = np.random.default_rng(8)
    held_out = HeldOut.of(unit(rng, 600, 64), smallest_set=200)
    assert held_out.size == 200
    text = unit(rng, 4000, 64, shift=4.0)
    small, large = held_out.frechet(text[:300]), held_out.frechet(text)
    assert small == pytest.approx(large, rel=0.05)
    assert frechet_distance(text, held_out.embeddings) < 0.9 * frechet_distance(text[:300], held_out.embeddings)
    floor = held_out.floor()
    assert floor.size == 200
    assert held_out.frechet(unit(rng, 500, 64)) == pytest.approx(floor.mean, rel=0.05)
    assert large > floor.mean + 5 * floor.stddev
    assert large == held_out.frechet(text)


def test_reports_with_many_texts_share_one_size():
    embeddings = unit(np.random.default_rng(0), 3000, 4)
    assert {HeldOut.of(embeddings, smallest_set=count).size for count in (250, 288, 800, 2000)} == {FID_TEXTS}


def test_size_is_bounded_by_half_of_the_held_out_texts():
    held_out = HeldOut.of(unit(np.random.default_rng(0), 101, 4), smallest_set=1000)
    assert held_out.size == 50
    with refuses("smaller-than-smallest-set", parameter="smallest_set"):
        held_out.frechet(np.zeros((49, 4)))


def test_pca_finds_the_plane_and_repeats_its_signs():
    rng = np.random.default_rng(9)
    axes = np.linalg.qr(rng.normal(size=(10, 2)))[0].T
    x = rng.normal(size=(300, 2)) * [5, 2] @ axes + 0.01 * rng.normal(size=(300, 10)) + 3
    pca = fit_pca(x)
    assert abs(pca.axes @ axes.T) == pytest.approx(np.eye(2), abs=0.2)
    assert pca.axes @ pca.axes.T == pytest.approx(np.eye(2))
    assert pca.explained.sum() > 0.99
    projected = pca.project(x)
    assert projected.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-9)
    assert projected @ pca.axes + pca.mean == pytest.approx(x, abs=0.1)
    again = fit_pca(x[::-1])
    assert again.axes == pytest.approx(pca.axes)
