"""Denoising of released scores by projection on the subspace of the true scores.

The true scores are `E @ v` for some d-vector `v`: they lie in the at most d-dimensional column space of the candidate
embeddings `E` (M x d), while the noise fills all M dimensions. The orthogonal projection keeps the scores and a share
d/M of the noise's energy. It reads only released scores and public embeddings: post-processing, free of privacy cost.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fedtext.voting.centring import Centre, centred, require_finite


def project_scores(
    noisy_scores: Float[np.ndarray, " candidate"],
    candidates: Float[np.ndarray, "candidate dim"],
    *,
    centre: Centre = "none",
    responses_per_prompt: int | None = None,
) -> Float[np.ndarray, " candidate"]:
    """Project the scores orthogonally on the span of the (centred) candidate embeddings.

    `centre` must be that of the ballots: centred scores lie in the span of the centred embeddings.

    Raises:
        ValueError: values that are not finite, or candidates that do not divide into prompts.
    """
    require_finite("noisy_scores", noisy_scores)
    rows = centred(candidates, centre, responses_per_prompt)
    eigenvalues, directions = np.linalg.eigh(rows.T @ rows)
    # A direction below rounding error is not in the span: dividing by its eigenvalue would amplify noise without bound.
    kept = eigenvalues > eigenvalues.max(initial=0.0) * max(rows.shape) * np.finfo(np.float64).eps
    basis = rows @ directions[:, kept] / np.sqrt(eigenvalues[kept])
    projected: np.ndarray = basis @ (basis.T @ noisy_scores)
    return projected
