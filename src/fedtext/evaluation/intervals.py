"""Means over seeds with Student's t intervals: few runs, unknown spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedtext.system.errors import InputError


class Interval(NamedTuple):
    """A mean over `runs` runs with its confidence interval; the ends are None for a single run."""

    mean: float
    low: float | None
    high: float | None
    runs: int


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Compute the mean of independent runs and its t interval mean -+ t(n - 1) s / sqrt(n).

    Raises:
        ValueError: no value, a value that is not finite, or a confidence outside (0, 1).
    """
    from scipy import stats

    x = np.asarray(values, dtype=np.float64)
    if x.size == 0 or not np.isfinite(x).all():
        raise InputError(
            f"an interval over seeds needs finite values, got {x.tolist()}: leave failed runs out",
            code="figures-not-finite",
        )
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence is {confidence}; give a share between 0 and 1, such as 0.95",
            code="confidence-out-of-range",
            parameter="confidence",
            value=confidence,
        )
    mean = float(x.mean())
    if x.size == 1:
        return Interval(mean, None, None, 1)
    half = float(stats.t.ppf((1 + confidence) / 2, x.size - 1) * x.std(ddof=1) / np.sqrt(x.size))
    return Interval(mean, mean - half, mean + half, int(x.size))


def paired_difference(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Interval:
    """Compute the interval of the mean of a_i - b_i, where run i of both had the same seed."""
    if len(a) != len(b):
        raise InputError(
            f"{len(a)} runs against {len(b)}: a paired difference needs the same seeds on both sides",
            code="seeds-differ",
        )
    return mean_interval([x - y for x, y in zip(a, b, strict=True)], confidence)
