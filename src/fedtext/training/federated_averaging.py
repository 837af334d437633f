"""Local training of many clients side by side: what each client's copy of a model has learnt after its own SGD steps.

Clients that take the same step share one call: `torch.func.vmap` over clients of the model's vector-Jacobian product,
with the first step on weights that all still share. A model that vmap cannot take is trained client by client, with the
same result up to rounding. Clients of like size are put together, so that little is computed for padding. On a CPU each
core trains such a group of its own.

Rows of tokens are filled up on the right with negative numbers. Causal attention never looks ahead, so a real token is
not touched by them; they are not scored. Dropout is off: a round is a function of its inputs and its seed. Clients side
by side multiply in bfloat16 where that is faster, as all training here does; weights and updates stay float32.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float32, Int

from fedtext.cores import over_cores, per_thread
from fedtext.hardware import bfloat16_where_it_pays
from fedtext.params.federated import LocalTraining
from fedtext.seeding import stream

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    Weights = dict[str, Tensor]
    # Weights of each client, or one set for all of them (shared), and tokens (client, row, position).
    Gradients = Callable[[Weights, Tensor, bool], Weights]

NO_TOKEN = -1


def flat_weights(model: PreTrainedModel) -> Float32[np.ndarray, " dim"]:
    """All parameters of `model` in one vector, in the model's own order; tied ones count once."""
    import torch

    vector = torch.nn.utils.parameters_to_vector(p.detach().float() for p in model.parameters())
    return np.asarray(vector.cpu().numpy())


def load_weights(model: PreTrainedModel, weights: Float[np.ndarray, " dim"]) -> PreTrainedModel:
    """`model` itself, in float32, with the parameters of the vector `weights`."""
    import torch

    model.float()
    vector = torch.tensor(weights, dtype=torch.float32, device=next(model.parameters()).device)
    torch.nn.utils.vector_to_parameters(vector, model.parameters())
    return model


def client_updates(
    model: PreTrainedModel,
    tokens: Int[np.ndarray, "row position"],
    client: Int[np.ndarray, " row"],
    local: LocalTraining,
    *,
    seed: int,
    vectorised: bool | None = None,
) -> Iterator[Float32[np.ndarray, "client dim"]]:
    """What local training adds to the weights of `model`, for each client that has a row; blocks of clients.

    Clients come in a fixed order of their own, by size. `seed` and a client's number decide how it shuffles.

    Args:
        model: A causal language model that holds the common weights; neither they nor its mode are kept.
        tokens: Rows, each a start token and what follows, filled up on the right with negative numbers.
        client: Whose row it is.
        local: Epochs, batch size, learning rate, and how many clients are trained side by side.
        seed: Of this round.
        vectorised: Whether clients share calls; None finds out whether the model allows it.
    """
    model.float().eval().requires_grad_(False)
    common = {name: p.detach() for name, p in model.named_parameters()}
    # A call puts a client's weights into the module for as long as it takes: every thread needs a module of its own.
    gradients = per_thread(lambda: _gradients(copy.deepcopy(model), vectorised))
    lengths = (tokens >= 0).sum(axis=1)
    rows = np.argsort(client, kind="stable")
    numbers, first = np.unique(client[rows], return_index=True)
    batches = [_batches(own, local, seed, int(c)) for c, own in zip(numbers, np.split(rows, first[1:]), strict=False)]
    batches.sort(key=lambda own: (len(own), sum(map(len, own)), lengths[np.concatenate(own)].max()), reverse=True)
    starts = range(0, len(batches), local.clients_at_once)
    groups = (batches[start : start + local.clients_at_once] for start in starts)
    yield from over_cores(
        lambda group: _trained(common, gradients(), tokens, lengths, group, local.learning_rate),
        groups,
        len(starts),
        model.device,
    )


def _batches(
    rows: Int[np.ndarray, " row"], local: LocalTraining, seed: int, client: int
) -> list[Int[np.ndarray, " place"]]:
    """Row numbers of each step of one client; the last step of an epoch may have fewer."""
    drawn = stream(seed, "local training", client)
    orders = [drawn.permutation(rows) for _ in range(local.epochs)]
    starts = range(0, len(rows), local.batch_size)
    return [order[start : start + local.batch_size] for order in orders for start in starts]


def _trained(
    common: Weights,
    gradients: Gradients,
    tokens: Int[np.ndarray, "row position"],
    lengths: Int[np.ndarray, " row"],
    batches: list[list[Int[np.ndarray, " place"]]],
    learning_rate: float,
) -> Float32[np.ndarray, "client dim"]:
    """Updates of some clients, sorted by falling numbers of steps: those that are done step aside.

    A client whose training diverges, to infinities or NaN, has zeros: whether a run ends must not be one client's say.
    """
    import torch

    device = next(iter(common.values())).device
    updates = torch.zeros((len(batches), sum(p.numel() for p in common.values())), device=device)
    moved = _by_name(updates, common)
    for step in range(len(batches[0])):
        active = sum(step < len(own) for own in batches)
        ids = torch.from_numpy(_step_tokens(tokens, lengths, [own[step] for own in batches[:active]])).to(device)
        weights = common if step == 0 else {n: common[n] + moved[n][:active] for n in common}
        for name, gradient in gradients(weights, ids, step == 0).items():
            moved[name][:active].sub_(gradient, alpha=learning_rate)
    updates[~updates.sum(dim=1).isfinite()] = 0.0
    return np.asarray(updates.cpu().numpy())


def _by_name(vectors: Tensor, common: Weights) -> Weights:
    """Views of one vector a client as its weights, in the order of `common`."""
    parts = vectors.split([p.numel() for p in common.values()], dim=1)
    return {name: part.unflatten(1, p.shape) for part, (name, p) in zip(parts, common.items(), strict=True)}


def _step_tokens(
    tokens: Int[np.ndarray, "row position"], lengths: Int[np.ndarray, " row"], rows: list[Int[np.ndarray, " place"]]
) -> Int[np.ndarray, "client place position"]:
    """Tokens of one step of several clients: as many places as their largest batch, as narrow as their longest row."""
    width = max(map(len, rows))
    places = np.stack([np.pad(own, (0, width - len(own)), constant_values=NO_TOKEN) for own in rows])
    longest = max(int(lengths[places[places >= 0]].max(initial=0)), 2)
    found = np.asarray(tokens[places, :longest], dtype=np.int64)
    found[places < 0] = NO_TOKEN
    return found


def _gradients(model: PreTrainedModel, vectorised: bool | None) -> Gradients:
    """How gradients are taken: clients side by side where the model allows it, else one after another."""
    if vectorised is False:
        return _looped(model)
    together = _vectorised(model)
    return together if vectorised or _works(together, model) else _looped(model)


def _works(gradients: Gradients, model: PreTrainedModel) -> bool:
    """Whether `gradients` takes this model, tried on two clients of one row."""
    import torch

    common = {name: p.detach() for name, p in model.named_parameters()}
    ids = torch.zeros((2, 1, 2), dtype=torch.int64, device=next(model.parameters()).device)
    try:
        gradients(common, ids, True)
    except (RuntimeError, NotImplementedError, ValueError):
        return False
    return True


def _vectorised(model: PreTrainedModel) -> Gradients:
    """Gradients of all clients in one call."""
    import torch

    model.set_attn_implementation("eager")  # vmap runs fused attention client by client, and says so

    def of_one(weights: Weights, ids: Tensor) -> Weights:
        logits, pullback = torch.func.vjp(lambda w: _logits(model, w, ids), weights)
        found: Weights = pullback(_error(logits, ids))[0]
        return found

    def of_all(weights: Weights, ids: Tensor, shared: bool) -> Weights:
        with bfloat16_where_it_pays(model.device):
            found: Weights = torch.func.vmap(of_one, in_dims=(None if shared else 0, 0))(weights, ids)
        return found

    return of_all


def _looped(model: PreTrainedModel) -> Gradients:
    """Gradients client after client, by plain automatic differentiation."""
    import torch

    def of_all(weights: Weights, ids: Tensor, shared: bool) -> Weights:
        found = []
        for c, own in enumerate(ids):
            leaves = {n: (w if shared else w[c]).detach().requires_grad_() for n, w in weights.items()}
            logits = _logits(model, leaves, own)
            found.append(torch.autograd.grad(logits, list(leaves.values()), _error(logits.detach(), own)))
        return {n: torch.stack(parts) for n, parts in zip(weights, zip(*found, strict=True), strict=True)}

    return of_all


def _logits(model: PreTrainedModel, weights: Mapping[str, Tensor], ids: Tensor) -> Tensor:
    import torch

    inputs = {"input_ids": ids[:, :-1].clamp(min=0), "use_cache": False}
    return torch.func.functional_call(model, dict(weights), (), inputs).logits.float()


def _error(logits: Tensor, ids: Tensor) -> Tensor:
    """Derivative of the mean cross-entropy of a batch's real tokens with respect to its logits."""
    import torch

    labels = ids[:, 1:, None]
    real = (labels >= 0).to(logits.dtype)
    error = logits.softmax(-1)  # as large as all that is done to it: in place
    error.scatter_add_(-1, labels.clamp(min=0), -torch.ones_like(real))
    return error.mul_(real / real.sum().clamp(min=1.0))
