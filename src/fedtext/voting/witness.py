"""Witness scoring: a candidate scores high where the private data have more mass than the candidates.

With `phi` a feature map, `mu_private` the one noisy release of the clients' mean feature and `mu_candidates` the mean
feature of this round's candidates, the score of a candidate is the (kernel) MMD witness function

    score(x) = <phi(x), mu_private - mu_candidates>.

It vanishes as the two distributions meet, so later rounds do not crowd at one point as they do under the mean cosine.
`phi` is the unit embedding itself (linear) or random Fourier features of it; the noisy mean of the latter is the
release of DP-MERF (Harder, Adamczewski, Park, AISTATS 2021). Scoring is post-processing: it may be repeated without
privacy cost.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from fedtext.embedding.exact_product import exact_product
from fedtext.seeding import stream
from fedtext.system.errors import InputError
from fedtext.voting.centring import require_finite


def random_features(
    embeddings: Float[np.ndarray, "n dim"], *, features: int, bandwidth: float, seed: int
) -> Float[np.ndarray, "n features"]:
    """Compute random Fourier features of the Gaussian kernel exp(-|x - y|^2 / (2 bandwidth^2)), as cosine-sine pairs.

    Pairs, and not sqrt(2/D) cos(wx + b), because cos^2 + sin^2 = 1 gives every input a norm of exactly 1: no row is
    clipped, the sum has sensitivity exactly 1, and none of that sensitivity is wasted. The single cosine has norm up to
    sqrt(2); scaled to at most 1 it would leave a typical input at 0.7, so the same noise would weigh 1.4 times more.

    Args:
        embeddings: Unit embeddings.
        features: D, even; half are cosines, half are sines.
        bandwidth: In units of distance between unit embeddings, which lie between 0 and 2.
        seed: Public. Clients and server must draw the same features.

    Raises:
        ValueError: an odd or non-positive `features`, a non-positive `bandwidth`, embeddings that are not finite.
    """
    if features < 2 or features % 2:
        raise InputError(
            f"features is {features}: choose an even number of at least 2, for cosine and sine pairs",
            code="odd-features",
            parameter="features",
            value=features,
        )
    if not bandwidth > 0:
        raise InputError(
            f"bandwidth is {bandwidth}: choose a positive distance, e.g. 1.0",
            code="bandwidth-out-of-range",
            parameter="bandwidth",
            value=bandwidth,
        )
    require_finite("embeddings", embeddings)
    dim = embeddings.shape[1]
    frequencies = stream(seed, "random features", dim, features).standard_normal((dim, features // 2)) / bandwidth
    angles = exact_product(embeddings, frequencies.astype(embeddings.dtype))
    pairs: np.ndarray = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    pairs /= np.sqrt(features / 2)
    return pairs


def witness_scores(
    candidate_features: Float[np.ndarray, "candidate feature"],
    private_mean: Float[np.ndarray, " feature"],
    valid: Bool[np.ndarray, " candidate"] | None = None,
) -> Float[np.ndarray, " candidate"]:
    """Compute the witness value of each candidate: <phi(x), private_mean - mean of phi over the candidates>.

    Candidates that are not `valid` (empty texts) do not count in that mean; their own scores are meaningless.
    """
    require_finite("private_mean", private_mean[None])
    rows = candidate_features.astype(np.float64)
    require_finite("candidate_features", rows)
    counted = rows if valid is None else rows[valid]
    if not len(counted):
        raise InputError("there is no valid candidate to score: every response is empty", code="no-valid-candidate")
    scores: np.ndarray = rows @ (private_mean - counted.mean(axis=0))
    return scores
