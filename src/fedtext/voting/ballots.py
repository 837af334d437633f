"""Ballots: each client's votes on the candidates, as one clipped vector a client.

There are two ballots. POPri's (Algorithm 4) holds the mean cosine between a candidate and the client's samples. In
Private Evolution's, each sample votes for its nearest candidate. Either is one vector a client, clipped to `clip_norm`,
so that adding or removing a client moves the sum by at most `clip_norm` in L2.

With unit embeddings the first ballot is `E @ m_i`, where `E` holds the (centred) candidates and `m_i` is the mean of
client i's embeddings. Its norm needs only the d x d Gram matrix `G = E.T @ E`, since |E m|^2 = m' G m, and the sum of
the clipped ballots is `E @ sum_i c_i m_i`. That is the Gram form: N d^2 operations in place of N M d, no N x M array,
and the same numbers.

In top-Q ballots (WASP, Algorithm 3), a record votes for the Q most similar and the Q most dissimilar texts of its
class. The q-th gets 2^-(q-1). The similar and dissimilar votes of a record are two parts of one vector. With Q texts or
more in its class its L2 norm is `ballot_norm(Q)`, below 1.633 whatever Q is, and either part adds up to
`ballot_total(Q)`, below 2. Votes are whole multiples of 2^-(Q-1), so that sums of them are exact in any order.

With `equal` votes each of the Q counts 1 (Flexible participation, Algorithm A.2), which has the norm sqrt(Q); with one
vote that is Private Evolution's histogram.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fedtext.embedding.exact_product import TILE, exact_product, exact_tiles
from fedtext.embedding.similarity import nearest
from fedtext.privacy.clipping import clip_rows
from fedtext.system.errors import InputError
from fedtext.voting.centring import Centre, centred, require_finite

if TYPE_CHECKING:
    from scipy.sparse import csr_array


GRAM_BLOCK = 4096  # clients a step: d columns each, so a few megabytes
Features = Callable[[Float[np.ndarray, "sample dim"]], Float[np.ndarray, "sample feature"]]


def client_means(
    embeddings: Float[np.ndarray, "sample dim"],
    client_index: Int[np.ndarray, " sample"] | None = None,
    n_clients: int | None = None,
) -> Float[np.ndarray, "client dim"]:
    """Compute the mean embedding of each client; a client without samples gets a zero row, so all its scores are zero.

    Without `client_index` the unit of privacy is the record: every sample is its own client.
    """
    if client_index is None:
        require_finite("embeddings", embeddings)
        return embeddings
    return np.concatenate(list(client_mean_blocks(embeddings, client_index, n_clients, block=GRAM_BLOCK)))


def client_mean_blocks(
    embeddings: Float[np.ndarray, "sample dim"],
    client_index: Int[np.ndarray, " sample"] | None = None,
    n_clients: int | None = None,
    *,
    features: Features | None = None,
    label: Int[np.ndarray, " sample"] | None = None,
    classes: int = 1,
    block: int = 256,
) -> Iterator[Float[np.ndarray, "block class*feature"]]:
    """Yield `client_means` of `block` clients at a time, of `features(embeddings)` where a feature map is given.

    With a `label` a sample, a row is as many means as there are `classes`, side by side: each the sum over the client's
    samples of that class, divided by the number of all its samples. A label of -1 is of no class and adds to none.
    Means are accumulated in float64 and returned in the features' own precision. The features of all samples never
    exist at once.
    """
    from scipy.sparse import csr_array

    require_finite("embeddings", embeddings)
    order, bounds = _samples_by_client(len(embeddings), client_index, n_clients)
    clients = len(bounds) - 1
    for first in range(0, max(clients, 1), block):
        edges = bounds[first : first + block + 1]
        rows = order[edges[0] : edges[-1]]
        mapped = embeddings[rows] if features is None else features(embeddings[rows])
        counts = np.diff(edges)
        weights = np.repeat(1.0 / np.maximum(counts, 1), counts)
        kind = np.zeros(len(rows), dtype=np.int64) if label is None else label[rows]
        known = np.flatnonzero(kind >= 0)
        place = np.repeat(np.arange(len(counts)) * classes, counts)[known] + kind[known]
        average = csr_array((weights[known], (place, known)), shape=(len(counts) * classes, len(rows)))
        yield (average @ mapped.astype(np.float64)).astype(mapped.dtype).reshape(len(counts), classes * mapped.shape[1])


def score_blocks(
    client_means: Float[np.ndarray, "client dim"],
    candidates: Float[np.ndarray, "candidate dim"],
    *,
    centre: Centre = "none",
    responses_per_prompt: int | None = None,
    clip_norm: float = 1.0,
    block: int = 256,
) -> Iterator[Float[np.ndarray, "block candidate"]]:
    """Yield the clipped ballots of `block` clients at a time: the contribution of each client to the secure sum."""
    rows = _comparable(client_means, centred(candidates, centre, responses_per_prompt))
    for first in range(0, len(client_means), block):
        means = client_means[first : first + block].astype(np.float64)
        yield clip_rows(exact_product(means, rows.T), clip_norm)


def _comparable(client_means: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return the candidates, after checking that the clients can score them."""
    require_finite("client_means", client_means)
    if client_means.shape[1] != candidates.shape[1]:
        raise InputError(
            f"client_means have {client_means.shape[1]} dimensions, candidates {candidates.shape[1]}: embed both with "
            "one encoder",
            code="dimensions-differ",
        )
    return candidates


def nearest_histogram_blocks(
    embeddings: Float[np.ndarray, "sample dim"],
    client_index: Int[np.ndarray, " sample"] | None,
    n_clients: int | None,
    candidates: Float[np.ndarray, "candidate dim"],
    *,
    clip_norm: float = 1.0,
    block: int = 256,
) -> Iterator[Float[np.ndarray, "block candidate"]]:
    """Yield Private Evolution's ballots: how many of a client's samples are nearest (by cosine) to each candidate.

    The clip bounds the whole client, however many samples it holds. Of equal embeddings the first gets the vote.
    """
    votes = _votes(embeddings, client_index, n_clients, candidates)
    for first in range(0, votes.shape[0], block):
        yield clip_rows(votes[first : first + block].toarray(), clip_norm)


def _votes(
    embeddings: Float[np.ndarray, "sample dim"],
    client_index: Int[np.ndarray, " sample"] | None,
    n_clients: int | None,
    candidates: Float[np.ndarray, "candidate dim"],
) -> csr_array:
    """Count how many of a client's samples are nearest to a candidate: client x candidate, sparse."""
    from scipy.sparse import csr_array

    require_finite("embeddings", embeddings)
    order, bounds = _samples_by_client(len(embeddings), client_index, n_clients)
    choice, shape = _nearest_candidate(embeddings, candidates)[order], (len(bounds) - 1, len(candidates))
    votes = csr_array((np.ones(len(choice)), choice, bounds), shape=shape)
    votes.sum_duplicates()
    return votes


def _nearest_candidate(
    embeddings: Float[np.ndarray, "sample dim"], candidates: Float[np.ndarray, "candidate dim"]
) -> Int[np.ndarray, " sample"]:
    """Return the index of each sample's nearest candidate; exact duplicates are merged, so rounding splits no tie."""
    if not len(candidates):
        raise InputError("there are no candidates to vote for: generate at least one response", code="no-candidates")
    require_finite("candidates", candidates)
    distinct = np.sort(np.unique(candidates, axis=0, return_index=True)[1])
    return np.asarray(distinct[nearest(embeddings, candidates[distinct])[0]])


def _samples_by_client(
    n_samples: int, client_index: Int[np.ndarray, " sample"] | None, n_clients: int | None
) -> tuple[Int[np.ndarray, " sample"], Int[np.ndarray, " bound"]]:
    """Sort samples by client; return their order and the bounds of each client's run in it."""
    if client_index is None:
        return np.arange(n_samples), np.arange(n_samples + 1)
    if n_clients is None:
        raise InputError(
            "n_clients is None: clients without samples count too, so state how many there are",
            code="clients-not-counted",
            parameter="n_clients",
        )
    if len(client_index) != n_samples:
        raise InputError(
            f"client_index has {len(client_index)} entries for {n_samples} embeddings: pass one a sample",
            code="too-few-client-indices",
            parameter="client_index",
            value=len(client_index),
        )
    if n_samples and not 0 <= client_index.min() <= client_index.max() < n_clients:
        raise InputError(
            f"client_index runs from {client_index.min()} to {client_index.max()}: keep it in 0..{n_clients - 1}",
            code="client-index-out-of-range",
            parameter="client_index",
        )
    bounds = np.concatenate([[0], np.cumsum(np.bincount(client_index, minlength=n_clients))])
    return np.argsort(client_index, kind="stable"), bounds


class Ranked(NamedTuple):
    """Single votes: the row that votes, the column that it votes for, and the rank of that choice (from 0)."""

    row: Int[np.ndarray, " vote"]
    column: Int[np.ndarray, " vote"]
    rank: Int[np.ndarray, " vote"]


def ballot_norm(votes: int, parts: int = 2) -> float:
    """Return the largest L2 norm of a record's ballot: sqrt(parts 4/3 (1 - 4^-Q)), 1.63298 for two parts at Q = 8."""
    return math.sqrt(parts * 4 / 3 * (1 - 0.25**votes))


def ballot_total(votes: int) -> float:
    """Return the total of a record's similar votes, which is that of its dissimilar ones: 2 - 2^(1-Q)."""
    return 2 - 2.0 ** (1 - votes)


def ranked(similarity: Float[np.ndarray, "row column"], votes: int) -> Ranked:
    """Return the `votes` largest entries of every row, the largest first; ties go to the lower column."""
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
    """Yield top-Q ballots of `block` clients at a time, unclipped: the sums of their samples' votes.

    The order of unit vectors by L2 distance is that by cosine, which is exact here (fedtext.embedding.exact_product).
    Votes are kept one by one, so memory is of samples x `votes`, and of `TILE` x candidates while they are found.

    Args:
        embeddings: Unit vectors of the samples.
        client_index: The client of each sample, from 0.
        n_clients: How many clients there are; one without samples has a row of zeros.
        candidates: Unit vectors of one class, at least one.
        votes: Q.
        furthest: True: vote for the most dissimilar candidates; False: for the most similar ones.
        equal: True: each of the Q votes counts 1; False: the q-th counts 2^-(q-1).
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
            "write at least one text, and embed both with one encoder",
            code="no-common-dimensions",
        )
    found = _top_q_votes(embeddings, candidates, votes, furthest)
    places = (client_index[found.row], found.column)
    worth = np.ones(len(found.rank)) if equal else np.ldexp(1.0, -found.rank)
    ballots = csr_array((worth, places), shape=(n_clients, len(candidates)))
    for first in range(0, n_clients, block):
        yield ballots[first : first + block].toarray()


def _top_q_votes(samples: np.ndarray, candidates: np.ndarray, votes: int, furthest: bool) -> Ranked:
    """Compute all samples' votes, a tile of samples at a time."""
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
