from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.voting.ballots import client_means
from fedtext.voting.projection import project_scores
from tests.refusals import refuses
from tests.voting.examples import federation, unit
from tests.voting.oracles import summed_scores


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), centre=st.sampled_from(["none", "all", "prompt"]))
def test_true_scores_pass_unchanged_and_noise_is_the_orthogonal_residual(seed, centre):
    data = federation(seed)
    how = {"centre": centre, "responses_per_prompt": 8}
    scores = summed_scores(client_means(data.embeddings, data.client_index, data.n_clients), data.candidates, **how)
    np.testing.assert_allclose(project_scores(scores, data.candidates, **how), scores, atol=1e-8)
    noisy = scores + np.random.default_rng(seed).standard_normal(len(scores))
    kept = project_scores(noisy, data.candidates, **how)
    np.testing.assert_allclose(project_scores(kept, data.candidates, **how), kept, atol=1e-8)
    assert abs((noisy - kept) @ kept) < 1e-8 * (noisy @ noisy)
    assert np.linalg.norm(kept - scores) < np.linalg.norm(noisy - scores)


def test_noise_energy_falls_to_the_share_of_dimensions():
    random = np.random.default_rng(1)
    candidates = unit(random.standard_normal((2000, 20)))
    noise = random.standard_normal(2000)
    kept = project_scores(noise, candidates)
    assert kept @ kept == pytest.approx(20, rel=0.6)  # chi-square with 20 degrees of freedom
    assert noise @ noise > 1800


def test_more_dimensions_than_candidates_keeps_everything():
    random = np.random.default_rng(2)
    candidates = unit(random.standard_normal((7, 30))).astype(np.float32)
    scores = random.standard_normal(7)
    np.testing.assert_allclose(project_scores(scores, candidates), scores, atol=1e-5)


def test_equal_candidates_get_the_mean_of_their_scores():
    candidates = np.eye(3)[[0, 0, 1, 2]]
    np.testing.assert_allclose(project_scores(np.array([1.0, 3.0, 5.0, 7.0]), candidates), [2.0, 2.0, 5.0, 7.0])


def test_directions_absent_from_the_candidates_are_dropped():
    flat = np.zeros((5, 4))
    np.testing.assert_array_equal(project_scores(np.arange(5.0), flat), np.zeros(5))


def test_broken_scores_are_refused():
    with refuses("embeddings-not-finite", parameter="noisy_scores"):
        project_scores(np.array([0.0, np.nan]), np.eye(2))
