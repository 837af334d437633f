"""The release of accuracies: one noisy sum over test clients of each condition's right predictions.

The module `private_evaluation` says what a client contributes, and computes accuracies from the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fedtext.evaluation import private_evaluation
from fedtext.evaluation.measures.measure import Counts, Scored
from fedtext.evaluation.private_evaluation import EvaluationQuery
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Block, digest
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey


class AccuracyContribution(NamedTuple):
    """The contribution of a test client to accuracy: see `evaluation.private_evaluation`."""

    guess: float
    clip_norm: float
    scale: float


def accuracy_query(name: str, conditions: int, clip_norm: float) -> EvaluationQuery:
    """Return the query of an accuracy release under so many conditions."""
    return EvaluationQuery(name, 1 + 2 * conditions, private_evaluation.joint_clip_norm(clip_norm))


def release_accuracies(
    counted: Mapping[str, Counts],
    contribution: AccuracyContribution,
    name: str,
    units: tuple[np.ndarray, np.ndarray | None],
    ledger: Ledger,
    key: NoiseKey,
    *,
    scored: Mapping[str, Scored],
) -> tuple[np.ndarray, Ledger]:
    """Make the planned release `name` of each test client's right predictions.

    Args:
        counted: Right predictions, and predictions, of each held-out text, by condition.
        contribution: Guess, clipping norm and scale of a client's contribution.
        name: Name of the release.
        units: The unit of each held-out text, and its holder.
        ledger: The test clients' ledger, opened for this release among others.
        key: The key of the noise.
        scored: All scores of each held-out text, by condition: they name the noise. Models of two sets of texts may be
            right as often, and equal bytes would say for certain that they are so in every client's text.

    Returns:
        The noisy sum, and the charged ledger.
    """
    total = next(iter(counted.values())).denominator
    held_counts = np.column_stack([total, *(counts.numerator for counts in counted.values())])
    query = accuracy_query(name, len(counted), contribution.clip_norm).query_of(ledger)

    def blocks_of(held: PrivateSamples) -> Iterator[Block]:
        predictions, *correct = held.features.T
        return private_evaluation.accuracy_blocks(
            dict(zip(counted, correct, strict=True)), predictions, held.unit, **contribution._asdict()
        )

    return release_noisy_sum(
        query.about(digest(np.asarray([contribution.guess, contribution.clip_norm]))),
        blocks_of,
        PrivateSamples.of_one_class(held_counts, *units),
        ledger,
        key,
        bound_to=digest(*(np.asarray(scored[name][one]) for name in counted for one in sorted(scored[name]))),
    )
