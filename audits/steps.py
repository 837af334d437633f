"""The steps of a training (`fedtext.federation.noisy_steps`), as an auditor sees them who knows both worlds.

A step's noised sum decides where the next one is asked. So a world that is not the real one is led: its training is
given the real one's answers, and what it would have answered there, without noise, is what the auditor expects of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from fedtext.federation import noisy_steps

DOOR: Any = noisy_steps  # whose own names are exchanged
Answer = tuple[np.ndarray, float]  # a noised sum, and the deviation of its noise as it was charged


@contextmanager
def answered() -> Iterator[list[Answer]]:
    """What trainings are answered within, in the order in which they ask."""
    seen: list[Answer] = []
    leaving, noise, charged = DOOR.dequantise, DOOR.discrete_gaussian, [0.0]

    def drawn(*given: Any, stddev_on_grid: float, **named: Any) -> np.ndarray:
        charged[0] = stddev_on_grid
        return noise(*given, stddev_on_grid=stddev_on_grid, **named)

    def noted(total: np.ndarray, step: float) -> np.ndarray:
        seen.append((leaving(total, step), charged[0] * step))
        return seen[-1][0]

    with patch.object(DOOR, "discrete_gaussian", drawn), patch.object(DOOR, "dequantise", noted):
        yield seen


@contextmanager
def led(answers: Sequence[Answer]) -> Iterator[list[np.ndarray]]:
    """Trainings within are given these answers, in order; what each of their steps came to by itself."""
    own: list[np.ndarray] = []
    leaving, given = DOOR.dequantise, iter(answers)

    def replaced(total: np.ndarray, step: float) -> np.ndarray:
        own.append(leaving(total, step))
        return next(given)[0]

    with patch.object(DOOR, "dequantise", replaced):
        yield own
