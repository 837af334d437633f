"""Samples as rows that a causal language model reads at once: each token is predicted once, and none is left out.

A sample is cut with one model's tokenizer and read by others, which may need more tokens for it: in Russian, twice as
many. Its tokens are laid out in windows one behind the other. A window after the first begins with the token before
it, which is shown and not predicted again, so no text seems to begin in its middle. A sample's windows are made of that
sample alone; they stay together where samples are held out, counted or drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Int, Shaped


@dataclass(frozen=True)
class Windows:
    """Rows of samples, in the samples' order.

    Attributes:
        rows: What stands before the first token to predict, and the tokens to predict.
        sample: The number of the sample that each row is a part of; each sample has at least one.
    """

    rows: list[list[int]]
    sample: Int[np.ndarray, " row"]

    @classmethod
    def of(cls, samples: Iterable[Sequence[int]], length: int) -> Self:
        """Windows of at most `length` tokens to predict; a sample's first token is its start, and never predicted."""
        parts = [[list(own[at : at + length + 1]) for at in range(0, max(len(own) - 1, 1), length)] for own in samples]
        counts = np.array([len(part) for part in parts], dtype=np.int64)
        return cls([row for part in parts for row in part], np.repeat(np.arange(len(parts)), counts))

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return int(self.sample[-1]) + 1 if len(self.sample) else 0

    def chosen(self, samples: Int[np.ndarray, " chosen"]) -> Windows:
        """The windows of some samples, whose numbers rise; they are numbered anew."""
        kept = np.flatnonzero(np.isin(self.sample, samples))
        return Windows([self.rows[i] for i in kept.tolist()], np.searchsorted(samples, self.sample[kept]))

    def with_tokens(self) -> Windows:
        """Without the samples in which there is nothing to predict."""
        return self.chosen(np.unique(self.sample[[len(row) > 1 for row in self.rows]]))

    def summed(self, values: Shaped[np.ndarray, "row ..."]) -> Shaped[np.ndarray, "sample ..."]:
        """What was counted in rows, by sample."""
        if not self.rows:
            return values
        return np.add.reduceat(values, np.unique(self.sample, return_index=True)[1], axis=0)
