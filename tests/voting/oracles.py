"""Sums of all ballots by one formula, which the ballots of the clients one by one are held against."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fedtext.privacy.clipping import clip_factors
from fedtext.voting.ballots import GRAM_BLOCK, _comparable
from fedtext.voting.centring import Centre, centred


def summed_scores(
    client_means: Float[np.ndarray, "client dim"],
    candidates: Float[np.ndarray, "candidate dim"],
    *,
    centre: Centre = "none",
    responses_per_prompt: int | None = None,
    clip_norm: float = 1.0,
) -> Float[np.ndarray, " candidate"]:
    """Sum over clients of their clipped mean-cosine ballots, before noise (Algorithm 4; Gram form).

    `centre` removes from each ballot its mean over all candidates, or over each prompt's `responses_per_prompt`
    successive candidates, before it is clipped. Memory is O(client dim + candidate dim).

    Args:
        client_means: mean of each client's unit embeddings; a zero row contributes nothing.
        candidates: unit embeddings of the candidate texts.
        centre: what is subtracted from a ballot before clipping.
        responses_per_prompt: J, needed by `centre="prompt"`.
        clip_norm: largest L2 norm of one client's ballot, hence the sensitivity of the sum.

    Raises:
        ValueError: embeddings that are not finite or of different lengths, or candidates that do not divide into
            prompts.
    """
    rows = _comparable(client_means, centred(candidates, centre, responses_per_prompt))
    gram = rows.T @ rows  # float64: in float32 a ballot nearly orthogonal to the mean candidate would escape its clip
    clipped_sum = np.zeros(rows.shape[1])
    for first in range(0, len(client_means), GRAM_BLOCK):
        means = client_means[first : first + GRAM_BLOCK].astype(np.float64)
        squared_norms = np.einsum("nd,nd->n", means @ gram, means)
        clipped_sum += clip_factors(np.sqrt(np.maximum(squared_norms, 0.0)), clip_norm) @ means
    return rows @ clipped_sum
