"""Class means: per class the sum of a unit's embeddings, one vector under one clip, released once for all later votes.

A released sum points where the class's records lie. Its length, which depends on their number, is not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from fedtext.federation.federation import Federation
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.question import Question, classes_name
from fedtext.federation.units import Block
from fedtext.privacy.ledger import Ledger


def class_sum_blocks(samples: PrivateSamples, classes: int, *, block: int = 256) -> Iterator[Block]:
    """Yield the contributions of units that hold samples, unclipped: their sums of embeddings, class beside class.

    A record's own vector has the norm of its embedding, 1. A sample of no declared class adds nothing.
    """
    from scipy.sparse import csr_array

    units, dim = np.unique(samples.unit), samples.features.shape[1]
    known = np.flatnonzero(samples.label >= 0)
    place = np.searchsorted(units, samples.unit[known]) * classes + samples.label[known]
    shape = (len(units) * classes, len(samples.unit))
    membership = csr_array((np.ones(len(known)), (place, known)), shape=shape)
    for first in range(0, len(units), block):
        some = units[first : first + block]
        rows = membership[first * classes : (first + len(some)) * classes]
        held = np.unique(rows.indices)
        sums = rows[:, held] @ samples.features[held].astype(np.float64)
        yield Block(some, np.asarray(sums).reshape(len(some), classes * dim))


class ClassMeans(Question):
    """The question of class means.

    Attributes:
        labels: The declared classes; empty: all samples are of one.
    """

    labels: tuple[str, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """The declared classes."""
        return self.labels

    def blocks(self, held: PrivateSamples) -> Iterator[Block]:
        """Implement Question."""
        return class_sum_blocks(held, max(len(self.labels), 1))


def noised_class_means(
    query: Query, federation: Federation, labels: Sequence[str], ledger: Ledger
) -> tuple[Float[np.ndarray, "class dim"], Ledger]:
    """Release the noisy sum of embeddings of each class, once for all later votes, and charge the ledger.

    Args:
        query: The query as planned.
        federation: Whoever has the units' samples.
        labels: The declared classes; empty: all samples are of one.
        ledger: The ledger to charge.

    Returns:
        A sum of embeddings a class, and the charged ledger.
    """
    classes = max(len(labels), 1)
    asked = query.about(f"class means {classes_name(labels)}")
    total, charged = federation.summed(asked, ClassMeans(labels=tuple(labels)), ledger)
    return total.reshape(classes, -1), charged


def class_similarity(
    texts: Float[np.ndarray, "text dim"], label: Int[np.ndarray, " text"], sums: Float[np.ndarray, "class dim"]
) -> Float[np.ndarray, " text"]:
    """Compute the inner product of every text with the released direction of its class; 0 if the class's sum is 0."""
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    directions = np.divide(sums, lengths, out=np.zeros(sums.shape), where=lengths > 0)
    return np.asarray(np.einsum("td,td->t", texts.astype(np.float64), directions[label]))
