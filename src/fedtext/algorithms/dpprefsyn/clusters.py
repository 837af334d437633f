"""Clusters of private differences by k-means with noised counts and sums (Algorithm 1, line 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.algorithms.dpprefsyn.budget import CLUSTERS, TALLIES
from fedtext.algorithms.dpprefsyn.door import Door, unit_means
from fedtext.embedding.exact_product import exact_product
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples
from fedtext.privacy.kmeans import mixture, moved_centres

Rows = Float[np.ndarray, "row part"]


@dataclass(frozen=True)
class Clusters:
    """Clusters as the last tally counted them.

    Attributes:
        centres: By which pairs are assigned.
        counts: How many units' pairs each has, noised, in units.
        sums: Of their projected differences, noised.
        kept: Which are used: those with at least n / (K + 4) (appendix B), by the noised count.
    """

    centres: Float[np.ndarray, "cluster part"]
    counts: Float[np.ndarray, " cluster"]
    sums: Float[np.ndarray, "cluster part"]
    kept: Bool[np.ndarray, " cluster"]

    @property
    def mixture(self) -> Float[np.ndarray, " cluster"]:
        """Shares of the kept ones."""
        return mixture(self.counts, self.kept)


def noised_clusters(samples: PrivateSamples, start: Rows, radius: float, units: float, door: Door) -> Clusters:
    """`TALLIES` releases: in each, pairs tell of the cluster whose centre is nearest (R, z), of norm sqrt(2) R.

    Between tallies the centres move; the last tally is of the clusters that are returned, so that it is their mixture
    and, as means, their heads for nothing more.

    Args:
        samples: `features` are projected differences, clipped to the radius.
        start: Centres before the first tally, public.
        radius: R.
        units: How many are expected to answer, which is public.
        door: Asks.
    """
    centres, part = np.asarray(start, dtype=np.float64), start.shape[1]
    for number in range(1, TALLIES + 1):
        own = replace(samples, label=nearest_centre(samples.features, centres))
        blocks = partial(
            unit_means,
            contribution=partial(_with_count, radius=radius),
            heads=len(centres),
            width=len(centres) * (part + 1),
        )
        door.show(centres)
        total = door.sum(CLUSTERS, number, own, blocks, clip_norm=np.sqrt(2.0) * radius)
        total = total.reshape(len(centres), part + 1)
        counts, sums = total[:, 0] / radius, total[:, 1:]
        if number < TALLIES:
            stddev = summed_stddev(door.ledger) / radius
            centres = moved_centres(centres, counts, sums, stddev=stddev, radius=radius)
    return Clusters(centres, counts, sums, large_enough(counts, units))


def large_enough(counts: Float[np.ndarray, " cluster"], units: float) -> Bool[np.ndarray, " cluster"]:
    """Which clusters have at least a (K + 4)th of all units (appendix B)."""
    return np.asarray(counts >= units / (len(counts) + 4))


def nearest_centre(rows: Rows, centres: Rows) -> Int[np.ndarray, " row"]:
    """The nearest centre of every row, the first of equals; -1 of a row of zeros, which is no preference.

    A function of that row and the centres, bit for bit.
    """
    products = exact_product(rows.astype(np.float64), centres.T.astype(np.float64))
    found = ((centres**2).sum(axis=1) - 2.0 * products).argmin(axis=1)
    return np.asarray(np.where(rows.any(axis=1), found, -1))


def _with_count(rows: Rows, radius: float) -> Rows:
    """(R, z): a count as long as the longest difference, so that neither drowns the other."""
    return np.concatenate([np.full((len(rows), 1), radius), rows], axis=1)
