"""Whoever answers a question: all units in this process, or silos in processes of their own.

`Simulated` holds everybody's samples. `fedtext.federation.silos_asked.Silos` asks the silos. A sum depends on neither:
both give the same integers where keys and questions are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.question import Question
from fedtext.federation.secure_sum import NoisySum, release_noisy_sum
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey


@runtime_checkable
class Federation(Protocol):
    """The units that a query is about, wherever their samples are."""

    def summed(self, query: Query, question: Question, ledger: Ledger) -> NoisySum:
        """Release the noisy sum of what the sampled units answer, each clipped, and charge the ledger.

        Args:
            query: As it was planned (`fedtext.federation.mechanism.opened_ledger`).
            question: What each unit is asked.
            ledger: The ledger to charge.

        Raises:
            BudgetExceeded: a ledger, the budget guard or a silo refuses.
            ValueError: `fedtext.federation.secure_sum.release_noisy_sum` would raise it.
        """
        ...


@dataclass(frozen=True)
class Simulated:
    """All units in this process, which sees what they hold.

    Attributes:
        samples: The samples of all units, with what the question looks at as their features.
        key: The run's secret noise key.
    """

    samples: PrivateSamples
    key: NoiseKey

    def summed(self, query: Query, question: Question, ledger: Ledger) -> NoisySum:
        """Implement Federation."""
        return release_noisy_sum(query, question.blocks, self.samples, ledger, self.key)
