"""Windows: samples cut into rows that a causal language model can read, so that each token is predicted exactly once.

A sample is cut with one model's tokenizer and read by other models, which may need more tokens for it: in Russian,
twice as many. Its tokens are laid out in successive windows. A window after the first begins with the last token of
the one before it, which is shown and not predicted again, so no window seems to begin in the middle of a text. A
window belongs to one sample; a sample's windows stay together where samples are held out, counted or sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Int, Shaped


@dataclass(frozen=True)
class Windows:
    """Rows of tokens, in the samples' order.

    Attributes:
        rows: Token ids of each row: one token that is shown only, then the tokens to predict.
        sample: Index of the sample that each row is a part of; each sample has at least one row.
    """

    rows: list[list[int]]
    sample: Int[np.ndarray, " row"]

    @classmethod
    def of(cls, samples: Iterable[Sequence[int]], length: int) -> Self:
        """Cut samples into windows of at most `length` tokens to predict; a sample's first token is never predicted."""
        parts = [[list(own[at : at + length + 1]) for at in range(0, max(len(own) - 1, 1), length)] for own in samples]
        counts = np.array([len(part) for part in parts], dtype=np.int64)
        return cls([row for part in parts for row in part], np.repeat(np.arange(len(parts)), counts))

    @property
    def samples(self) -> int:
        """Number of samples."""
        return int(self.sample[-1]) + 1 if len(self.sample) else 0

    def chosen(self, samples: Int[np.ndarray, " chosen"]) -> Windows:
        """Return the windows of some samples, whose indices must increase; the samples are renumbered from 0."""
        kept = np.flatnonzero(np.isin(self.sample, samples))
        return Windows([self.rows[i] for i in kept.tolist()], np.searchsorted(samples, self.sample[kept]))

    def with_tokens(self) -> Windows:
        """Return the windows without the samples that have no token to predict."""
        return self.chosen(np.unique(self.sample[[len(row) > 1 for row in self.rows]]))

    def summed(self, values: Shaped[np.ndarray, "row ..."]) -> Shaped[np.ndarray, "sample ..."]:
        """Sum values of rows by sample."""
        if not self.rows:
            return values
        return np.add.reduceat(values, np.unique(self.sample, return_index=True)[1], axis=0)
