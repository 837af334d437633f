"""Next-token accuracy that test clients pay for: one vector a client, one noised sum of them all.

With t the tokens of a client that were scored, r what the judged model predicts right, r_k what it does under condition
k, and p the public model's accuracy on public text (a public guess of the accuracy to come), a client says

    x = [t / 20,  r - p t,  r - r_k for every other condition k]        clipped to `clip_norm` tokens
    y = [(r - p t)^2, (r - r_k)^2, ...] / (2 clip_norm)                 of the clipped x

and the door clips (x, y) as a whole. Differences to what is judged are small, a few tokens of a hundred, so they are
sent as they are; tokens are many and only divide, so they are scaled down; and levels become small by the public guess.
With counts in place of differences a client of 80 tokens would say 80 and not 5, at as many times the noise.

Accuracies and gains are ratios of noised sums. Their intervals hold the noise, whose deviation is known, and the draw
of the clients: that is what y is for. It costs next to nothing, as |y| <= |x| / 2 makes the clip 1.12 times as wide at
most and clients that are short of it pay less. y is taken one deviation of its own noise too large, so that intervals
err on the wide side.

Precision, by resampling the docstrings' public test clients (median 82 tokens, 3.3 tokens of difference a client) and
this door, at epsilon 1, delta 1e-5: two releases have a noise multiplier of 5.28, so a gain carries noise of 5.28 x 12
x 1.12 tokens over all tokens. In points, for 100, 400 and 1,500 test clients (20, 5 and 1 samples of each):

    deviation of a gain's noise      0.67   0.18   0.08        of the draw of the clients alone   0.23   0.15   0.10
    half of the 95% interval         1.8    0.5    0.3         of the level's                     1.9    0.6    0.35

Clipping shrinks a gain of one point by 0.06 (5 samples a client, 23% of the clients clipped) or 0.02 (one sample, 1%).
A clip of 8 has a third less noise and shrinks it by 0.1; one of 16 has a third more and shrinks it by 0.04.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Int64

from fedtext.evaluation.measures.measure import PerText
from fedtext.evaluation.paired import between, in_order, judged_of, pairs
from fedtext.federation.blocks import Block
from fedtext.params.conditions import EPS0, PRIVATE
from fedtext.privacy.clipping import clip_rows
from fedtext.system.errors import InputError

TOKENS, SQUARES = 1 / 20, 1 / 2  # scales of what a client says of its tokens, and of squares
BLOCK = 1024
NORMAL = 1.96  # of a 95% interval


def joint_clip_norm(clip_norm: float) -> float:
    """Largest norm of what a client says in all: |y| <= |x|^2 / (2 clip_norm) <= clip_norm / 2."""
    return clip_norm * math.sqrt(1 + SQUARES**2)


def ordered(conditions: Sequence[str]) -> tuple[str, ...]:
    """What is judged, then the others in the order of `CONDITIONS`: the order of the released coordinates.

    Raises:
        ValueError: nothing is judged, or the public model was not scored.
    """
    judged = judged_of(conditions)
    if judged is None or EPS0.name not in conditions:
        raise InputError(f"{', '.join(conditions)}: a priced accuracy compares what an algorithm made with {EPS0.name}")
    return judged, *(name for name in in_order(conditions) if name != judged)


def accuracy_blocks(
    correct: Mapping[str, Int[np.ndarray, " text"]],
    tokens: Int[np.ndarray, " text"],
    unit: Int64[np.ndarray, " text"],
    *,
    guess: float,
    clip_norm: float,
    scale: float = TOKENS,
) -> Iterator[Block]:
    """What each test client says: `correct` predictions by condition and `tokens` of its texts, whose `unit` is told.

    `tokens` are whatever is predicted; `scale` is that of their number.

    Rows are `1 + 2 len(correct)` wide, in the order of `ordered`. A client's row is made of whole numbers that are its
    own, so nobody else's texts move it.
    """
    codes, place = np.unique(unit, return_inverse=True)
    names = ordered(tuple(correct))

    def of_clients(counts: Int[np.ndarray, " text"]) -> Float[np.ndarray, " client"]:
        return np.bincount(place, weights=counts, minlength=len(codes))

    judged, own = of_clients(correct[names[0]]), of_clients(tokens)
    others = [judged - of_clients(correct[name]) for name in names[1:]]
    said = np.stack([scale * own, judged - guess * own, *others], axis=1)
    for first in range(0, len(codes), BLOCK):
        clipped = clip_rows(said[first : first + BLOCK], clip_norm)
        squares = SQUARES / clip_norm * clipped[:, 1:] ** 2
        yield Block(codes[first : first + BLOCK], np.concatenate([clipped, squares], axis=1))


@dataclass(frozen=True)
class ReleasedCounts:
    """Noised sums over test clients; `noise` is the deviation in every coordinate of what was released."""

    names: tuple[str, ...]
    tokens: float
    sums: Float[np.ndarray, " condition"]
    squares: Float[np.ndarray, " condition"]
    guess: float
    noise: float
    clip_norm: float
    scale: float = TOKENS

    @classmethod
    def of(
        cls,
        released: Float[np.ndarray, " coordinate"],
        conditions: Sequence[str],
        *,
        guess: float,
        noise: float,
        clip_norm: float,
        scale: float = TOKENS,
    ) -> ReleasedCounts:
        """From the released vector. Tokens lost in the noise are not divided by next to nothing, or less."""
        names = ordered(conditions)
        width = len(names)
        if released.shape != (1 + 2 * width,):
            raise InputError(f"{released.size} released numbers for {width} conditions: {1 + 2 * width} are wanted")
        tokens = max(float(released[0]), noise) / scale
        squares = released[1 + width :] * clip_norm / SQUARES
        return cls(names, tokens, released[1 : 1 + width], squares, guess, noise, clip_norm, scale)

    def accuracy(self, name: str) -> dict[str, float]:
        """Accuracy under a condition as `estimate`, `low`, `high`."""
        weights = {self.names[0]: 1.0} | ({} if name == self.names[0] else {name: -1.0})
        return self._interval(weights, self.guess)

    def gain(self, name: str, reference: str) -> dict[str, Any]:
        """Accuracy under `name` less that under `reference`: `estimate`, `low`, `high`, `measurable`."""
        weights = {one: sign for one, sign in ((name, -1.0), (reference, 1.0)) if one != self.names[0]}
        found = self._interval(weights, 0.0)
        return {**found, "measurable": found["low"] > 0 or found["high"] < 0}

    def share(self, name: str) -> dict[str, Any]:
        """Share of the gap from public model to private text that a condition closes; None, and why, if none."""
        gap = self.gain(PRIVATE.name, EPS0.name)
        if gap["low"] <= 0:
            reason = "no gap to close: what training on the private text itself changes is within noise, or a loss"
            return {"share": None, "low": None, "high": None, "reason": reason}
        share = self.gain(name, EPS0.name)["estimate"] / gap["estimate"]
        weights = {EPS0.name: 1.0 - share, PRIVATE.name: share}  # of gain - share * gap, whose spread is the share's
        if name != self.names[0]:
            weights[name] = weights.get(name, 0.0) - 1.0
        residual = self._interval(weights, 0.0)
        half = (residual["high"] - residual["low"]) / 2 / gap["estimate"]
        return {"share": share, "low": share - half, "high": share + half, "reason": None}

    def _interval(self, weights: Mapping[str, float], offset: float) -> dict[str, float]:
        """95% interval of `offset` + the weighted sum of coordinates over tokens: noise, and the draw of the clients.

        Deviations of the draw add up, as if the coordinates of a client went together: never too narrow.
        """
        place = [self.names.index(name) for name in weights]
        own = np.asarray(list(weights.values()))
        ratio = float(own @ self.sums[place]) / self.tokens
        noise = self.noise * math.hypot(*own, ratio / self.scale)
        spread = np.sqrt(np.maximum(self.squares[place], 0) + self.noise * self.clip_norm / SQUARES)
        half = NORMAL * math.hypot(noise, float(np.abs(own) @ spread)) / self.tokens
        return {"estimate": offset + ratio, "low": offset + ratio - half, "high": offset + ratio + half}


def compare_released(released: ReleasedCounts, texts: Mapping[str, int | None], measure: PerText) -> dict[str, Any]:
    """As `paired.compare_scored`, of released sums of what `measure` counts.

    `texts` are the numbers of training texts that are public.
    """
    names = in_order(released.names)
    gains = {name: {one: released.gain(name, one) for one in others} for name, others in pairs(names).items()}
    closed = {name: released.share(name) for name in between(names)} if PRIVATE.name in names else {}
    table = {name: _level(released.accuracy(name), measure) | {"texts": texts.get(name)} for name in names}
    compared = {"judged": released.names[0], "gains": gains, "gap_closed": closed}
    return {"measures": [measure.name], "conditions": table, **compared}


def _level(found: Mapping[str, float], measure: PerText) -> dict[str, float]:
    low, level, high = (min(max(found[end], 0.0), 1.0) for end in ("low", "estimate", "high"))
    return {measure.name: level, "low": low, "high": high}
