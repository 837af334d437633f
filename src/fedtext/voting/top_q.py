"""Top-Q ballots (WASP, Algorithm 3): a record votes for the Q nearest and the Q furthest texts of its class.

The q-th gets 2^-(q-1). A record's near and far votes are two parts of one vector. With Q texts or more in its class its
L2 norm is `ballot_norm(Q)`, below 1.633 whatever Q is, and either part adds up to `ballot_total(Q)`, below 2. Votes are
whole multiples of 2^-(Q-1), so that sums of them are exact in any order.

With `equal` votes each of the Q counts 1 (Flexible participation, Algorithm A.2), which has the norm sqrt(Q); with one
vote that is Private Evolution's histogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fedtext.embedding.exact_product import TILE, exact_tiles
from fedtext.system.errors import InputError
from fedtext.voting.centring import require_finite


class Ranked(NamedTuple):
    """Votes one by one: whose row, for which column, as its how-manieth choice (from 0)."""

    row: Int[np.ndarray, " vote"]
    column: Int[np.ndarray, " vote"]
    rank: Int[np.ndarray, " vote"]


def ballot_norm(votes: int, parts: int = 2) -> float:
    """Largest L2 norm of a record's ballot: sqrt(parts 4/3 (1 - 4^-Q)), near and far together 1.63298 at Q = 8."""
    return math.sqrt(parts * 4 / 3 * (1 - 0.25**votes))


def ballot_total(votes: int) -> float:
    """What a record's near votes add up to, and its far ones: 2 - 2^(1-Q)."""
    return 2 - 2.0 ** (1 - votes)


def ranked(similarity: Float[np.ndarray, "row column"], votes: int) -> Ranked:
    """The `votes` largest entries of every row, the largest first, of equals the one of the lower column first."""
    kept = min(votes, similarity.shape[1])
    threshold = np.partition(similarity, -kept, axis=1)[:, -kept]
    row, column = np.nonzero(similarity >= threshold[:, None])
    order = np.lexsort((column, -similarity[row, column], row))
    row, column = row[order], column[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    return Ranked(*(part[rank < kept] for part in (row, column, rank)))


def top_q_blocks(
    embeddings: Float[np.ndarray, "sample dim"],
    client_index: Int[np.ndarray, " sample"],
    n_clients: int,
    candidates: Float[np.ndarray, "candidate _"],
    *,
    votes: int,
    furthest: bool = False,
    equal: bool = False,
    block: int = 256,
) -> Iterator[Float[np.ndarray, "block candidate"]]:
    """Ballots of clients, unclipped, `block` a time: the sums of their samples' votes for the nearest candidates.

    Unit vectors are as near in l2 as they are alike in cosine, which is exact here (fedtext.embedding.exact_product).
    Votes are kept one by one, so memory is of samples x `votes`, and of `TILE` x candidates while they are found.

    Args:
        embeddings: Of the samples, unit vectors.
        client_index: Whose each sample is, from 0.
        n_clients: How many clients there are; one without samples has a row of zeros.
        candidates: Unit vectors of one class, at least one.
        votes: Q.
        furthest: Whether the votes are for the furthest.
        equal: Whether a later choice counts as much as the first.
        block: Rows at a time.

    Raises:
        ValueError: there is no candidate, an embedding is not finite, or the two are not of one encoder.
    """
    from scipy.sparse import csr_array

    require_finite("embeddings", embeddings)
    require_finite("candidates", candidates)
    if not len(candidates) or embeddings.shape[1] != candidates.shape[1]:
        raise InputError(
            f"{len(candidates)} candidates of {candidates.shape[1]} dimensions for samples of {embeddings.shape[1]}: "
            "write at least one text, and embed both with one encoder"
        )
    found = _votes(embeddings, candidates, votes, furthest)
    places = (client_index[found.row], found.column)
    worth = np.ones(len(found.rank)) if equal else np.ldexp(1.0, -found.rank)
    ballots = csr_array((worth, places), shape=(n_clients, len(candidates)))
    for first in range(0, n_clients, block):
        yield ballots[first : first + block].toarray()


def _votes(samples: np.ndarray, candidates: np.ndarray, votes: int, furthest: bool) -> Ranked:
    """All samples' votes, a tile of samples at a time."""
    if not len(samples):
        return Ranked(*(np.zeros(0, dtype=np.int64) for _ in Ranked._fields))
    columns = np.ascontiguousarray(-candidates if furthest else candidates, dtype=np.float32).T
    tiles = exact_tiles(samples.astype(np.float32, copy=False), columns)
    found = [(number * TILE, ranked(similarity, votes)) for number, similarity in enumerate(tiles)]
    return Ranked(
        np.concatenate([first + tile.row for first, tile in found]),
        np.concatenate([tile.column for _, tile in found]),
        np.concatenate([tile.rank for _, tile in found]),
    )
