from __future__ import annotations

import numpy as np

from fedtext.evaluation.ratios import clustered_ratio
from tests.refusals import refuses


def test_error_covers_the_truth_at_the_stated_rate():
    """95% intervals over clients of unequal sizes and correlated tokens hold the truth about 95% of the time."""
    rng = np.random.default_rng(0)
    held, naive = 0, 0
    for _ in range(400):
        client = np.repeat(np.arange(80), rng.integers(1, 6, size=80))
        skill = rng.normal(0.3, 0.12, size=80).clip(0.01, 0.99)
        tokens = rng.integers(10, 60, size=len(client))
        right = rng.binomial(tokens, skill[client])
        ratio = clustered_ratio(right, tokens, client)
        truth = 0.3
        held += ratio.low <= truth <= ratio.high
        binomial = 1.96 * np.sqrt(ratio.estimate * (1 - ratio.estimate) / tokens.sum())
        naive += abs(ratio.estimate - truth) <= binomial
    assert 0.91 <= held / 400 <= 0.98
    assert naive / 400 < 0.75  # the error of independent tokens is refuted by the same draws


def test_few_clusters_have_wider_intervals():
    """With five clients the normal quantile covers the truth in about 88% of the draws; Student's in about 95%."""
    rng = np.random.default_rng(1)
    held = normal = 0
    for _ in range(1000):
        skill, tokens = rng.normal(0.3, 0.05, size=5), np.full(5, 500)
        ratio = clustered_ratio(skill * tokens, tokens)
        held += ratio.low <= 0.3 <= ratio.high
        normal += abs(ratio.estimate - 0.3) <= 1.96 * ratio.standard_error
    assert 0.93 <= held / 1000 <= 0.97
    assert normal / 1000 < 0.91


def test_one_cluster_says_nothing_of_others():
    ratio = clustered_ratio(np.array([1, 2]), np.array([4, 4]), np.array([0, 0]))
    assert (ratio.low, ratio.high) == (-np.inf, np.inf)


def test_nothing_below_the_line_is_an_error():
    with refuses("ratio-over-nothing"):
        clustered_ratio(np.array([1.0]), np.array([0.0]))
