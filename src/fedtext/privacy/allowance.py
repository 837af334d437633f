"""What all releases of one data set together may cost: a fact of the run's parameters, not of what was released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.spending import Spent


class Allowance(NamedTuple):
    """What a data set may spend.

    Attributes:
        public: Whether its text is: releases are counted, and none is refused.
        total: `privacy.total_epsilon`, infinite where nothing limits them; None: what the first run declared.
    """

    public: bool = False
    total: float | None = None

    @classmethod
    def of(cls, corpus: Corpus, privacy: Privacy) -> Allowance:
        """By a run's declarations."""
        return cls(corpus.is_public, privacy.total_epsilon)

    def limit(self, history: Sequence[Spent], ledger: Ledger) -> float:
        """The most that all releases of the ledger's clients may cost together; infinite where none is refused."""
        if self.public:
            return math.inf
        if self.total is not None:
            return self.total
        first = next((entry for entry in history if entry.part == ledger.part), None)
        return first.budget if first else ledger.declaration.epsilon
