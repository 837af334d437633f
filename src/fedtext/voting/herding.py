"""Kernel herding: pick the texts whose mean features match a released mean. Post-processing, so it costs no privacy."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from fedtext.system.errors import InputError
from fedtext.voting.centring import require_finite

SHARD = 8192  # a shard's Gram matrix is at most 256 MiB


def herd(
    features: Float[np.ndarray, "text dim"], target: Float[np.ndarray, " dim"], count: int
) -> Int[np.ndarray, " kept"]:
    """Rows of `features`, each at most once, whose mean is greedily driven to `target`; ties go to the lower row.

    Step k takes the row with the largest <phi(x), (k + 1) target - sum of the rows taken>. Pools above 8,192 rows are
    herded shard by shard, interleaved, each giving its share.

    Raises:
        ValueError: `count` exceeds the number of rows, or a value is NaN or infinite.
    """
    require_finite("features", features)
    require_finite("target", target[None])
    if count > len(features):
        raise InputError(f"asked for {count} texts out of {len(features)}: generate more or ask for fewer")
    shards = -(-len(features) // SHARD)
    kept = []
    for s in range(shards):
        rows = np.arange(s, len(features), shards)
        share = count // shards + (s < count % shards)  # never more than the shard has: it is cut the same way
        kept.append(rows[_herd_shard(features[rows], target, share)])
    return np.sort(np.concatenate(kept)) if kept else np.zeros(0, dtype=np.int64)


def _herd_shard(
    features: Float[np.ndarray, "text dim"], target: Float[np.ndarray, " dim"], count: int
) -> Int[np.ndarray, " kept"]:
    gram = np.asarray(features, dtype=np.float32) @ np.asarray(features, dtype=np.float32).T
    pull = features @ target
    taken_sum = np.zeros(len(features))
    free = np.ones(len(features), dtype=bool)
    taken = np.empty(count, dtype=np.int64)
    for k in range(count):
        best = int(np.argmax(np.where(free, (k + 1) * pull - taken_sum, -np.inf)))
        taken[k], free[best] = best, False
        taken_sum += gram[best]
    return taken
