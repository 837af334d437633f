"""The allowance of a data set: what all its releases together may cost, by the run's parameters alone."""

from __future__ import annotations

from typing import NamedTuple

from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy


class Allowance(NamedTuple):
    """The total privacy cost that a data set's releases may have.

    Attributes:
        public: True for public text: releases are counted, and none is refused.
        total: `privacy.total_epsilon`, infinite if nothing limits them; None: each promise has its first run's budget.
    """

    public: bool = False
    total: float | None = None

    @classmethod
    def of(cls, corpus: Corpus, privacy: Privacy) -> Allowance:
        """Build from a run's declarations."""
        return cls(corpus.is_public, privacy.total_epsilon)
