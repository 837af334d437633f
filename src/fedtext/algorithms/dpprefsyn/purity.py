"""Purity of the clusters: whether pairs of one kind of annotator fall into one cluster (appendix C.7).

Annotators of real pairs are not known by kind; simulated ones are. A pair's cluster says which of its answers was
chosen, so no pair is scored by it: here it is only counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.algorithms.dpprefsyn.releases import nearest_centre
from fedtext.algorithms.dpprefsyn.scorer import Scorer
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.privacy.clipping import clip_rows
from fedtext.seeding import stream
from fedtext.system.errors import InputError

DEALS, SEED = 200, 0  # of kinds to clusters: their mean moves by less than a point


def clusters_of(
    differences: Float[np.ndarray, "pair dim"], scorer: Scorer, public: Candidates, params: Dpprefsyn
) -> Int[np.ndarray, " pair"]:
    """Return the cluster of each difference, clipped and projected as those that were clustered; -1: it has none.

    Raises:
        ValueError: the scorer has no clusters of differences.
    """
    if scorer.centres is None:
        raise InputError(
            "the scorer has no clusters of differences: set dpprefsyn.form to clustered and heads_by to difference",
            code="scorer-without-clusters",
            parameter="dpprefsyn.form",
        )
    radius = public.radius(params.radius_quantile)
    rows = clip_rows(differences.astype(np.float64), radius)
    parts = rows if scorer.directions is None else rows @ scorer.directions
    return nearest_centre(clip_rows(parts, radius), scorer.centres)


def purity(cluster: Int[np.ndarray, " pair"], kinds: Sequence[str], clusters: int) -> dict[str, Any]:
    """Count the kinds of annotators in each cluster.

    Args:
        cluster: Cluster of each pair; -1 for a pair without one, which is left out.
        kinds: Kind of the annotator of each pair.
        clusters: Number of clusters.

    Returns:
        `clusters`: one mapping each with its number of `pairs` and, where there are any, the `share` of each kind;
        `pairs`, their number; `purity`: the share of pairs whose kind is the most frequent in their cluster; `largest`:
        the share of the most frequent kind, which is the purity of no clusters at all; and `chance`: the mean purity of
        as large clusters to which the kinds are dealt at random. Small clusters are never even, so it is above
        `largest`.

    Raises:
        ValueError: no pair has a cluster.
    """
    names, known = np.unique(np.asarray(kinds), return_inverse=True)
    own, known = cluster[cluster >= 0], known[cluster >= 0]
    table = _table(own, known, (clusters, len(names)))
    total = int(table.sum())
    if not total:
        raise InputError("no held-out pair has a cluster: two answers of each are alike", code="no-pair-in-a-cluster")
    rows = [
        {
            "pairs": int(row.sum()),
            "share": {str(name): float(n / row.sum()) for name, n in zip(names, row, strict=True)},
        }
        if row.sum()
        else {"pairs": 0, "share": {}}
        for row in table
    ]
    return {
        "clusters": rows,
        "pairs": total,
        "purity": float(table.max(axis=1).sum() / total),
        "largest": float(table.sum(axis=0).max() / total),
        "chance": _by_chance(own, known, table.shape),
    }


def _table(
    cluster: Int[np.ndarray, " pair"], known: Int[np.ndarray, " pair"], shape: tuple[int, ...]
) -> Int[np.ndarray, "cluster kind"]:
    table = np.zeros(shape, dtype=np.int64)
    np.add.at(table, (cluster, known), 1)
    return table


def _by_chance(cluster: Int[np.ndarray, " pair"], known: Int[np.ndarray, " pair"], shape: tuple[int, ...]) -> float:
    draws = stream(SEED, "purity by chance")
    dealt = (_table(cluster, draws.permutation(known), shape) for _ in range(DEALS))
    return float(np.mean([table.max(axis=1).sum() for table in dealt]) / len(cluster))
