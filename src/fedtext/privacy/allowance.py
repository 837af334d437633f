"""What all releases of one data set together may cost: a fact of the run's parameters, not of what was released."""

from __future__ import annotations

from typing import NamedTuple

from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy


class Allowance(NamedTuple):
    """What a data set may spend.

    Attributes:
        public: Whether its text is: releases are counted, and none is refused.
        total: `privacy.total_epsilon`, infinite if nothing limits them; None: each promise has its first run's budget.
    """

    public: bool = False
    total: float | None = None

    @classmethod
    def of(cls, corpus: Corpus, privacy: Privacy) -> Allowance:
        """By a run's declarations."""
        return cls(corpus.is_public, privacy.total_epsilon)
