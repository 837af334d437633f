"""Linear Bradley-Terry models of preferences: P(chosen over rejected) = sigmoid(theta . z) for a difference z.

The loss of a pair is log(1 + exp(-theta . z)) (DPPrefSyn, equation 1). With several models ("heads"), each pair is
assigned to one of them.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from fedtext.embedding.exact_product import exact_product


def sigmoid(x: Float[np.ndarray, "*row"]) -> Float[np.ndarray, "*row"]:
    """Compute the logistic function without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(x, dtype=np.float64))))


def descents(
    heads: Float[np.ndarray, "head dim"], differences: Float[np.ndarray, "pair dim"], head: Int[np.ndarray, " pair"]
) -> Float[np.ndarray, "pair dim"]:
    """Compute minus the gradient of each pair's loss for its own head: sigmoid(-theta . z) z, no longer than z.

    A pair's row depends on that pair and the heads alone, bit for bit. A pair with head -1 has a row of zeros.
    """
    margins = exact_product(differences.astype(np.float64), heads.T.astype(np.float64))
    own = np.take_along_axis(margins, np.maximum(head, 0)[:, None], axis=1)
    return np.asarray(np.where(head[:, None] >= 0, sigmoid(-own) * differences, 0.0))
