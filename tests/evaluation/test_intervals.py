from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedtext.evaluation.intervals import mean_interval, paired_difference
from tests.refusals import refuses

FINITE = st.floats(-1e6, 1e6)


@given(st.lists(FINITE, min_size=2, max_size=30), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_agrees_with_scipy(values, confidence):
    interval = mean_interval(values, confidence)
    error = stats.sem(values)
    if error == 0:
        assert interval.low == interval.high == interval.mean
        return
    low, high = stats.t.interval(confidence, len(values) - 1, np.mean(values), error)
    assert interval.low == pytest.approx(low, rel=1e-9, abs=1e-6)
    assert interval.high == pytest.approx(high, rel=1e-9, abs=1e-6)


def test_one_run_has_a_mean_and_no_interval():
    interval = mean_interval([0.3])
    assert interval == (0.3, None, None, 1)


def test_pairing_agrees_with_the_paired_t_test():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=6)
    a, b = shared + 0.1 * rng.normal(size=6) + 0.3, shared + 0.1 * rng.normal(size=6)
    interval = paired_difference(a.tolist(), b.tolist())
    reference = stats.ttest_rel(a, b).confidence_interval()
    assert (interval.low, interval.high) == pytest.approx((reference.low, reference.high))


@pytest.mark.parametrize(
    ("values", "confidence", "code"),
    [
        ([], 0.95, "figures-not-finite"),
        ([1.0, np.nan], 0.95, "figures-not-finite"),
        ([1.0, 2.0], 1.0, "confidence-out-of-range"),
    ],
)
def test_bad_input_is_refused(values, confidence, code):
    with refuses(code):
        mean_interval(values, confidence)


def test_unpaired_runs_are_refused():
    with refuses("seeds-differ"):
        paired_difference([1.0], [1.0, 2.0])
