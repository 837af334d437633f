"""Test clients as a priced evaluation asks them: what they are promised, who is asked, with which samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.query import Query
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.plan import planned_multiplier
from fedtext.system.errors import InputError

FEATURES = "evaluation.features"


def accuracy_release(algorithm: str) -> str:
    """Name of an algorithm's own release; the features of one data root are released alike for all, and so once."""
    return f"evaluation.{algorithm}.accuracy"


def classification_release(algorithm: str) -> str:
    """Name of an algorithm's release of how often classes are found."""
    return f"evaluation.{algorithm}.classification"


@dataclass(frozen=True)
class Asked:
    """What test clients are asked in one release: a vector of `dim` numbers, clipped to `clip_norm`."""

    name: str
    dim: int
    clip_norm: float

    def query(self, declared: Privacy, test_units: int, releases: int) -> Query:
        """As one of so many releases, all at one noise."""
        noise = planned_multiplier(declared, test_units, releases)
        return Query(self.name, 0, self.dim, self.clip_norm, noise)

    def query_of(self, ledger: Ledger) -> Query:
        """As one of the releases that the ledger was opened for."""
        return self.query(ledger.declaration, ledger.population, len(ledger.planned or ()))


def evaluation_ledger(privacy: Privacy, evaluation: Evaluation, test_units: int, asked: Sequence[Asked]) -> Ledger:
    """The test clients' own empty ledger, for these releases at one noise.

    Raises:
        ValueError: there is no test client, or delta is too large for so few.
    """
    declared = evaluation.declaration(privacy)
    if test_units < 1:
        raise InputError(
            f"{test_units} test {privacy.unit}s are expected: raise partition.test_share or privacy.population, or "
            "measure without protection (evaluation.priced=false)"
        )
    queries = [one.query(declared, test_units, len(asked)) for one in asked]
    return opened_ledger(queries, declared, test_units, part="test")


def samples_of_each(evaluation: Evaluation, test_units: int) -> int:
    """How many samples a test client is asked about: a public number, so that nobody's choice depends on the others."""
    return max(evaluation.max_eval_samples // test_units, 1)


def spread_over_own(unit: Int[np.ndarray, " sample"], most: int) -> Int[np.ndarray, " kept"]:
    """Ascending positions of at most `most` samples of every unit, evenly spread over the unit's own."""
    order = np.argsort(unit, kind="stable")
    _, first, count = np.unique(unit[order], return_index=True, return_counts=True)
    place = np.arange(len(unit)) - np.repeat(first, count)
    held = np.repeat(count, count)
    kept = place * most // held > (place - 1) * most // held  # the first sample of each of `most` equal stretches
    return np.sort(order[kept])
