"""The steps of a training and the tokens of a text, as seen by an auditor who knows both worlds.

A step's noisy sum determines the gradients of the next one. So the training of the world that is not real is forced: it
receives the real one's noisy sums, and its own sums, without noise, are what the auditor expects of that world. The
tokens of private prediction (`fedtext.federation.token_release`) are forced in the same way, and the auditor computes
the probability of each in either world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from fedtext.federation import charged_release, noisy_steps

Place = tuple[str, ...]  # of a token: its stream, without the digest of its scores
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


@contextmanager
def drawn() -> Iterator[dict[Place, int]]:
    """Record the tokens that are drawn in this context."""
    seen: dict[Place, int] = {}
    drawing = NOISE.exponential_choice

    def noted(*given: Any, stream: Place, **named: Any) -> int:
        seen[stream[:-1]] = drawing(*given, stream=stream, **named)
        return seen[stream[:-1]]

    with patch.object(NOISE, "exponential_choice", noted):
        yield seen


@contextmanager
def forced(tokens: Mapping[Place, int]) -> Iterator[dict[Place, np.ndarray]]:
    """Draw the given tokens in this context, and record the log probabilities of all candidates."""
    own: dict[Place, np.ndarray] = {}

    def replaced(_: Any, scores: np.ndarray, *, scale: float, stream: Place) -> int:
        nats = (scores - scores.max()) / scale
        own[stream[:-1]] = nats - np.log(np.exp(nats).sum())
        return tokens[stream[:-1]]

    with patch.object(NOISE, "exponential_choice", replaced):
        yield own


def loss_of(token: int, zero: np.ndarray, one: np.ndarray) -> tuple[float, float] | None:
    """Return a token's privacy loss and how far apart it is in the two worlds, as if it were Gaussian.

    The loss of many tokens is nearly Gaussian, and its variance the difference of its means. So, divided by the root of
    that difference, it is a number with noise of deviation 1 whose mean is as far apart as the second value says.

    Args:
        token: What was drawn.
        zero: Log probabilities of all candidates in world 0.
        one: The same in world 1.
    """
    loss = one - zero
    means = float(np.exp(zero) @ loss), float(np.exp(one) @ loss)
    apart = float(np.sqrt(max(means[1] - means[0], 0.0)))
    return (float(loss[token] - means[0]) / apart, apart) if apart else None
