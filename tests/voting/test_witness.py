from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.voting.witness import random_features, witness_scores
from tests.refusals import refuses
from tests.voting.examples import unit


def texts(n: int, dim: int = 24, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((n, dim))).astype(dtype)


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), bandwidth=st.floats(0.05, 20), half=st.integers(1, 300))
def test_every_feature_vector_has_norm_one(seed, bandwidth, half):
    phi = random_features(texts(9, seed=seed), features=2 * half, bandwidth=bandwidth, seed=seed)
    assert phi.shape == (9, 2 * half)
    np.testing.assert_allclose(np.linalg.norm(phi.astype(float), axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("bandwidth", [0.5, 1.0, 2.0])
def test_inner_products_approach_the_gaussian_kernel(bandwidth):
    x = texts(40, dtype="float64")
    phi = random_features(x, features=40_000, bandwidth=bandwidth, seed=3)
    kernel = np.exp(-np.square(np.linalg.norm(x[:, None] - x[None], axis=2)) / (2 * bandwidth**2))
    np.testing.assert_allclose(phi @ phi.T, kernel, atol=0.04)
    wider = np.exp(-np.square(np.linalg.norm(x[:, None] - x[None], axis=2)) / (2 * (1.3 * bandwidth) ** 2))
    assert np.abs(phi @ phi.T - wider).max() > 0.06


def test_features_depend_on_the_seed_and_nothing_else():
    x = texts(5)
    first = random_features(x, features=64, bandwidth=1.0, seed=1)
    np.testing.assert_array_equal(first, random_features(x, features=64, bandwidth=1.0, seed=1))
    np.testing.assert_array_equal(first[2:3], random_features(x[2:3], features=64, bandwidth=1.0, seed=1))
    assert np.abs(first - random_features(x, features=64, bandwidth=1.0, seed=2)).max() > 0.01
    assert first.dtype == np.float32


@pytest.mark.parametrize(
    ("features", "bandwidth", "code"),
    [
        (7, 1.0, "odd-features"),
        (0, 1.0, "odd-features"),
        (8, 0.0, "bandwidth-out-of-range"),
        (8, float("nan"), "bandwidth-out-of-range"),
    ],
)
def test_impossible_features_are_named(features, bandwidth, code):
    with refuses(code):
        random_features(texts(2), features=features, bandwidth=bandwidth, seed=0)


def test_the_score_is_the_witness_function():
    phi, private = texts(6, dtype="float64"), texts(1, seed=1, dtype="float64")[0]
    expected = [x @ private - np.mean([x @ y for y in phi]) for x in phi]
    np.testing.assert_allclose(witness_scores(phi, private), expected, atol=1e-12)


def test_scores_vanish_when_the_distributions_meet_and_favour_what_is_missing():
    a, b = np.eye(2)
    met = witness_scores(np.array([a, a, b, b]), (a + b) / 2)
    np.testing.assert_allclose(met, np.zeros(4), atol=1e-15)
    scores = witness_scores(np.array([a, a, a, b]), (a + b) / 2)
    assert scores[3] > 0 > scores[0]


def test_candidates_that_are_not_valid_do_not_count_in_the_mean():
    phi, private = texts(6, dtype="float64"), texts(1, seed=1, dtype="float64")[0]
    valid = np.array([True, True, False, True, False, True])
    scores = witness_scores(phi, private, valid)
    np.testing.assert_allclose(scores[valid], witness_scores(phi[valid], private), atol=1e-12)
    with refuses("no-valid-candidate"):
        witness_scores(phi, private, np.zeros(6, dtype=bool))


def test_broken_values_are_refused():
    phi = texts(3)
    broken = phi.copy()
    broken[1, 1] = np.nan
    with refuses("embeddings-not-finite", parameter="candidate_features"):
        witness_scores(broken, phi[0])
    with refuses("embeddings-not-finite", parameter="private_mean"):
        witness_scores(phi, broken[1])
    with refuses("embeddings-not-finite", parameter="embeddings"):
        random_features(broken, features=4, bandwidth=1.0, seed=0)
