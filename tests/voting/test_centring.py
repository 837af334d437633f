from __future__ import annotations

import numpy as np
import pytest

from fedtext.voting.centring import centred, prompt_count, require_finite
from tests.refusals import refuses


def rows(n: int = 6, dim: int = 3) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, dim)).astype(np.float32)


def test_what_is_subtracted():
    x = rows()
    np.testing.assert_array_equal(centred(x), x)
    np.testing.assert_allclose(centred(x, "all"), x - x.astype(float).mean(axis=0))
    by_prompt = centred(x, "prompt", 2)
    for first in (0, 2, 4):
        np.testing.assert_allclose(by_prompt[first : first + 2].mean(axis=0), np.zeros(3), atol=1e-15)
    assert np.abs(by_prompt.mean(axis=0) - centred(x, "all").mean(axis=0)).max() < 1e-15
    assert np.abs(by_prompt - centred(x, "all")).max() > 0.1


def test_the_input_is_left_alone():
    x = rows().astype(np.float64)
    before = x.copy()
    for centre in ("none", "all", "prompt"):
        result = centred(x, centre, 3)
        assert result.dtype == np.float64
        result += 1.0
        np.testing.assert_array_equal(x, before)


def test_one_response_a_prompt_leaves_nothing():
    assert not centred(rows(), "prompt", 1).any()


def test_no_candidates():
    assert centred(np.zeros((0, 3)), "prompt", 10).shape == (0, 3)


@pytest.mark.parametrize("responses", [None, 0, -2])
def test_a_missing_number_of_responses_is_named(responses):
    with refuses("responses-not-stated", parameter="responses_per_prompt", value=responses):
        prompt_count(10, responses)


def test_the_first_broken_row_is_named():
    x = rows()
    x[4, 1] = x[5, 0] = np.nan
    with refuses("embeddings-not-finite", parameter="x"):
        require_finite("x", x)
    require_finite("x", rows())
