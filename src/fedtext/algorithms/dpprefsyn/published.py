"""What the published form reads without a mechanism, for comparison: the mean of differences, and exact sizes.

A cluster that is dropped by its exact size tells whether one pair was there: epsilon is infinite. Centring removes the
mean of all differences, which is what people prefer; scaling to length 1 lets a pair that hardly differs say as much as
any. The released code does both.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from fedtext.algorithms.dpprefsyn.clusters import Clusters, large_enough, nearest_centre
from fedtext.embedding.differences import unit_length
from fedtext.federation.private_samples import PrivateSamples
from fedtext.privacy.gate import current
from fedtext.privacy.ledger import Ledger

MEAN, SIZES = "dpprefsyn.mean", "dpprefsyn.sizes"


def centred(pairs: PrivateSamples, ledger: Ledger) -> tuple[PrivateSamples, Ledger]:
    """Differences less their exact mean."""
    charged = _read(MEAN, "the exact mean of all differences was taken from each", ledger)
    rows = pairs.features.astype(np.float64)
    return replace(pairs, features=rows - rows.mean(axis=0)), charged


def of_length_one(rows: Float[np.ndarray, "row part"]) -> Float[np.ndarray, "row part"]:
    """Each projected difference at length 1."""
    return unit_length(rows)


def counted(clusters: Clusters, scored: PrivateSamples, ledger: Ledger) -> tuple[Clusters, Ledger]:
    """The clusters with their exact sizes, by which they are dropped and mixed (lines 11 and 12)."""
    charged = _read(SIZES, "clusters were dropped and mixed by their exact sizes", ledger)
    own = nearest_centre(scored.features, clusters.centres)
    sizes = np.bincount(own[own >= 0], minlength=len(clusters.centres)).astype(np.float64)
    return replace(clusters, counts=sizes, kept=large_enough(sizes, len(own))), charged


def _read(name: str, reason: str, ledger: Ledger) -> Ledger:
    current().unaccounted(name, reason, ledger)
    return ledger.unaccounted_read(name, f"{reason}, by no mechanism")
