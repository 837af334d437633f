from __future__ import annotations

import pytest

from fedtext.evaluation.measures.next_token_accuracy import ACCURACY, CROSS_ENTROPY
from fedtext.evaluation.wording import change, compact, rounded, scientific, seconds, share, size, spent


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (rounded(0.35612, 0.02), "0.36"),
        (rounded(0.35612, 0.002), "0.356"),
        (rounded(0.35612, 0.000001), "0.356"),
        (rounded(0.35612, 3.0), "0"),
        (rounded(-0.0004, None), "0.000"),
        (rounded(-0.004, 0.02), "0.00"),
        (CROSS_ENTROPY.number(-0.0001), "0.000"),
        (CROSS_ENTROPY.change(-0.0001), "0.000"),
        (CROSS_ENTROPY.change(0.0001), "0.000"),
        (change(CROSS_ENTROPY, {"estimate": 0.2, "low": -0.0001, "high": 0.4}), "+0.200 (0.000 to 0.400)"),
        (share({"share": -0.001, "low": -0.004, "high": 0.002}), "0% (0 to 0)"),
        (compact(82_000_000), "82M"),
        (compact(6_912_000), "6.9M"),
        (compact(18_000), "18,000"),
        (scientific(1e-5), "10⁻⁵"),
        (scientific(3e-6), "3 × 10⁻⁶"),
        (seconds(0.0031), "0.0031 s"),
        (seconds(13_547.84), "13,548 s"),
        (seconds(None), "–"),
        (size(8192), "8.2 kB"),
        (size(12), "12 B"),
        (change(ACCURACY, {"estimate": 0.012, "low": 0.009, "high": 0.0151}), "+1.2 (0.9 to 1.5)"),
        (change(ACCURACY, {"estimate": 0.012, "low": None, "high": None}), "+1.2 (interval unknown: one client)"),
        (change(CROSS_ENTROPY, {"estimate": -0.0124, "low": -0.2, "high": 0.1}), "-0.012 (-0.200 to 0.100)"),
        (share(None), "–"),
        (share({"share": None, "low": None, "high": None, "reason": "none"}), "no gap"),
        (share({"share": 0.284, "low": 0.2, "high": 0.35, "reason": None}), "28% (20 to 35)"),
    ],
)
def test_numbers(shown, expected):
    assert shown == expected


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        (1.0, "1.00"),
        (1.0001, "1.01"),
        (0.919, "0.92"),
        (0.9, "0.90"),
        (99_999.5, "99999.50"),
        (500_004_264_889.8, "5.1 × 10¹¹"),
        (9.91e11, "10¹²"),
        (2e5, "2 × 10⁵"),
    ],
)
def test_epsilon_is_never_printed_smaller_than_it_is(epsilon, expected):
    assert spent(epsilon) == expected
