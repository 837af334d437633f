"""Federated averaging: the clients' local training, side by side, and the server's step on their mean update.

A client's update depends on that client alone, to the bit: on its own rows, the common weights, public parameters and
the seed of the round. It does not depend on which clients train in the same batch, in which order or in which process.
A client is therefore computed in a shape of its own (`fedtext.training.local_steps`), among a fixed number of slots,
each computed as if it were alone (`fedtext.training.client_gradients`), by one thread. The first step is on weights
that all slots still share. A model that cannot be computed side by side is trained client by client, with the same
result up to rounding. On a CPU each core trains a group of its own.

Rows of tokens are filled up on the right with negative numbers. Attention is causal, so these do not affect a real
token; they are not scored. Dropout is off: a round is a function of its inputs and its seed. Clients side by side
multiply in bfloat16 where that is faster, as all training here does; weights and updates stay float32.

The server's state is a dictionary of vectors, as it is saved between rounds: `weights` (float32) and the optimizer's
moments `mean` and `square` (float64). The server receives released values only.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float32, Int, Int64

from fedtext.federation.units import Block
from fedtext.params.federated import LocalTraining, ServerOptimizer
from fedtext.system.cores import over_cores, per_thread
from fedtext.training.client_gradients import one_alone, side_by_side, slots_are_alike
from fedtext.training.local_steps import groups_of_one_shape, local_steps, shown_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor
    from transformers import PreTrainedModel

    from fedtext.training.client_gradients import Gradients, Weights
    from fedtext.training.local_steps import LocalSteps


def flat_weights(model: PreTrainedModel) -> Float32[np.ndarray, " dim"]:
    """Return all parameters of `model` in one vector, in the model's own order; tied ones count once."""
    import torch

    vector = torch.nn.utils.parameters_to_vector(p.detach().float() for p in model.parameters())
    return np.asarray(vector.cpu().numpy())


def load_weights(model: PreTrainedModel, weights: Float[np.ndarray, " dim"]) -> PreTrainedModel:
    """Set the parameters of `model`, in float32, to the vector `weights`, and return the model."""
    import torch

    model.float()
    vector = torch.tensor(weights, dtype=torch.float32, device=next(model.parameters()).device)
    torch.nn.utils.vector_to_parameters(vector, model.parameters())
    return model


def client_updates(
    model: PreTrainedModel,
    tokens: Int[np.ndarray, "row position"],
    client: Int64[np.ndarray, " row"],
    local: LocalTraining,
    *,
    seed: int,
    vectorised: bool | None = None,
) -> Iterator[Block]:
    """Train each client that has a row from the weights of `model`, and yield its update with its code.

    A client's row has the same bytes whatever the other clients are; another `clients_at_once` may change its last
    bits.

    Args:
        model: A causal language model with the common weights; its weights and mode are not restored.
        tokens: Rows, each a start token and what follows, filled up on the right with negative numbers.
        client: Code of the client of each row. A client shuffles its rows from the order they have here.
        local: Epochs, batch size, learning rate, and how many clients are trained side by side.
        seed: Seed of this round.
        vectorised: Whether clients share calls; None tests whether the model allows it.
    """
    model.float().eval().requires_grad_(False)
    if vectorised is None:
        vectorised = slots_are_alike(model, local.clients_at_once)
    slots, taken = (local.clients_at_once, side_by_side) if vectorised else (1, one_alone)
    common = {name: p.detach() for name, p in model.named_parameters()}
    # A call swaps a client's weights into the module while it runs, so every thread needs a module of its own.
    gradients = per_thread(lambda: taken(copy.deepcopy(model)))
    groups = groups_of_one_shape(local_steps(tokens, client, local, seed), slots)
    yield from over_cores(
        lambda group: _trained(common, gradients(), group, shown_tokens(tokens, group, slots), local.learning_rate),
        groups,
        len(groups),
        model.device,
    )


def _trained(
    common: Weights,
    gradients: Gradients,
    group: list[LocalSteps],
    shown: Int64[np.ndarray, "step slot place position"],
    learning_rate: float,
) -> Block:
    """Compute the updates of a group, sorted by decreasing numbers of steps; a finished client's weights stay.

    A client whose training diverges, to infinities or NaN, gets zeros: no single client may decide whether a run ends.
    """
    import torch

    device = next(iter(common.values())).device
    updates = torch.zeros((shown.shape[1], sum(p.numel() for p in common.values())), device=device)
    moved = _by_name(updates, common)
    # Filled anew at each step: at 82M weights a fresh set beside the last would be a third of the memory at the peak.
    own = {name: torch.empty((shown.shape[1], *p.shape), device=device) for name, p in common.items()}
    for step, ids in enumerate(torch.from_numpy(shown).to(device)):
        active = sum(step < len(each.rows) for each in group)
        weights = common if step == 0 else {n: torch.add(common[n], moved[n], out=own[n]) for n in common}
        for name, gradient in gradients(weights, ids, step == 0).items():
            moved[name][:active].sub_(gradient[:active], alpha=learning_rate)
    found = np.asarray(updates[: len(group)].cpu().numpy())
    found[~np.isfinite(found).all(axis=1)] = 0.0
    return Block(np.array([each.code for each in group], dtype=np.int64), found)


def _by_name(vectors: Tensor, common: Weights) -> Weights:
    """Return views of one vector per slot as its weights, in the order of `common`."""
    parts = vectors.split([p.numel() for p in common.values()], dim=1)
    return {name: part.unflatten(1, p.shape) for part, (name, p) in zip(parts, common.items(), strict=True)}


Server = dict[str, np.ndarray]
_MEMORY = {"sgd": (), "momentum": ("mean",), "adam": ("mean", "square")}


def new_server(weights: Float[np.ndarray, " dim"], params: ServerOptimizer) -> Server:
    """Return the server's state before the first round: these weights, with all moments zero."""
    memory = {name: np.zeros(weights.size) for name in _MEMORY[params.method]}
    return {"weights": weights.astype(np.float32), **memory}


def server_step(server: Mapping[str, np.ndarray], update: Float[np.ndarray, " dim"], params: ServerOptimizer) -> Server:
    """Apply one mean update to the server (Reddi et al., ICLR 2021, Algorithm 2; no bias correction there or here)."""
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
