"""The steps of a training (`fedtext.federation.noisy_steps`), as seen by an auditor who knows both worlds.

A step's noisy sum determines the gradients of the next one. So the training of the world that is not real is forced: it
receives the real one's noisy sums, and its own sums, without noise, are what the auditor expects of that world.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from fedtext.federation import charged_release, noisy_steps

STEPS: Any = noisy_steps  # whose own names are exchanged
NOISE: Any = charged_release
Answer = tuple[np.ndarray, float]  # a noisy sum, and the recorded standard deviation of its noise


@contextmanager
def answered() -> Iterator[list[Answer]]:
    """Record the noisy sums of trainings in this context, in their order."""
    seen: list[Answer] = []
    leaving, noise, charged = STEPS.dequantise, NOISE.discrete_gaussian, [0.0]

    def drawn(*given: Any, stddev_on_grid: float, **named: Any) -> np.ndarray:
        charged[0] = stddev_on_grid
        return noise(*given, stddev_on_grid=stddev_on_grid, **named)

    def noted(total: np.ndarray, step: float) -> np.ndarray:
        seen.append((leaving(total, step), charged[0] * step))
        return seen[-1][0]

    with patch.object(NOISE, "discrete_gaussian", drawn), patch.object(STEPS, "dequantise", noted):
        yield seen


@contextmanager
def led(answers: Sequence[Answer]) -> Iterator[list[np.ndarray]]:
    """Replace the noisy sums of trainings in this context by the given ones, in order, and record their own sums."""
    own: list[np.ndarray] = []
    leaving, given = STEPS.dequantise, iter(answers)

    def replaced(total: np.ndarray, step: float) -> np.ndarray:
        own.append(leaving(total, step))
        return next(given)[0]

    with patch.object(STEPS, "dequantise", replaced):
        yield own
