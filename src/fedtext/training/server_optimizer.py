"""The server's side of federated training: one step of the common weights by the clients' mean update.

A server is a dictionary of vectors, as it is saved between rounds: `weights` (float32), and what its method remembers,
`mean` and `square` (float64). It sees released values only.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from fedtext.params.federated import ServerOptimizer

Server = dict[str, np.ndarray]
_MEMORY = {"sgd": (), "momentum": ("mean",), "adam": ("mean", "square")}


def new_server(weights: Float[np.ndarray, " dim"], params: ServerOptimizer) -> Server:
    """The server before the first round: these weights, and nothing to remember."""
    memory = {name: np.zeros(weights.size) for name in _MEMORY[params.method]}
    return {"weights": weights.astype(np.float32), **memory}


def server_step(server: Mapping[str, np.ndarray], update: Float[np.ndarray, " dim"], params: ServerOptimizer) -> Server:
    """The server after one mean update (Reddi et al., ICLR 2021, Algorithm 2; no bias correction there or here)."""
    moved = dict(server)
    step = update
    if params.method == "momentum":
        step = moved["mean"] = params.decay * server["mean"] + update
    elif params.method == "adam":
        mean = moved["mean"] = params.decay * server["mean"] + (1 - params.decay) * update
        square = moved["square"] = params.square_decay * server["square"] + (1 - params.square_decay) * update**2
        step = mean / (np.sqrt(square) + params.smallest_root)
    moved["weights"] = (server["weights"] + params.learning_rate * step).astype(np.float32)
    return moved
