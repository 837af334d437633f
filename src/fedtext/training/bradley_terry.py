"""Linear Bradley-Terry models of preferences: P(chosen over rejected) = sigmoid(theta . z) of a difference z.

The loss of a pair is log(1 + exp(-theta . z)) (DPPrefSyn, equation 1). A pair may have one of several models, its head.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from fedtext.embedding.exact_product import exact_product


def sigmoid(x: Float[np.ndarray, "*row"]) -> Float[np.ndarray, "*row"]:
    """The logistic function, without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(x, dtype=np.float64))))


def descents(
    heads: Float[np.ndarray, "head dim"], differences: Float[np.ndarray, "pair dim"], head: Int[np.ndarray, " pair"]
) -> Float[np.ndarray, "pair dim"]:
    """Minus the gradient of each pair's loss by its own head's weights: sigmoid(-theta . z) z, no longer than z.

    A pair's row is a function of that pair and of the heads, bit for bit. A pair of head -1 has a row of zeros.
    """
    margins = exact_product(differences.astype(np.float64), heads.T.astype(np.float64))
    own = np.take_along_axis(margins, np.maximum(head, 0)[:, None], axis=1)
    return np.asarray(np.where(head[:, None] >= 0, sigmoid(-own) * differences, 0.0))
