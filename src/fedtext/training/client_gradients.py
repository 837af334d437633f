"""Gradients of clients that each have weights of their own: side by side in one call, or one client a call.

Side by side is `torch.func.vmap` over clients of the model's vector-Jacobian product. In a given shape each client is a
slot of its own: what it gets does not depend, to the bit, on its slot or on what the other slots hold.

A row of tokens shows real ones; `NO_TOKEN`, which is not scored; and, as `only_shown` has them, tokens that are shown
to the model and not scored, such as a prompt's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from fedtext.system.cores import over_cores
from fedtext.system.hardware import bfloat16_if_faster
from fedtext.training.local_steps import POSITIONS

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    Weights = dict[str, Tensor]
    # Weights of each slot, or one set for all of them (shared), and tokens (slot, place, position).
    Gradients = Callable[[Weights, Tensor, bool], Weights]
    # Of a model, one slot's logits (place, position, token) and its ids (place, 1 + position): the derivative of that
    # slot's loss with respect to the logits.
    Error = Callable[[PreTrainedModel, Tensor, Tensor], Tensor]


def token_error(model: PreTrainedModel, logits: Tensor, ids: Tensor) -> Tensor:
    """Derivative of the mean cross-entropy of a batch's real tokens with respect to its logits."""
    real = (ids[:, 1:, None] >= 0).to(logits.dtype)
    return surprise_error(logits, ids).mul_(real / real.sum().clamp(min=1.0))


def surprise_error(logits: Tensor, ids: Tensor) -> Tensor:
    """Derivative of each token's own cross-entropy with respect to its logits, of tokens that are not scored too."""
    import torch

    labels = ids[:, 1:, None].clamp(min=0)
    error = logits.softmax(-1)  # as large as all that is done to it: in place
    return error.scatter_add_(-1, labels, -torch.ones_like(labels, dtype=logits.dtype))


def side_by_side(model: PreTrainedModel, error: Error = token_error) -> Gradients:
    """Gradients of all slots in one call; `model` computes eagerly from now on."""
    import torch

    model.set_attn_implementation("eager")  # vmap runs fused attention client by client, and says so

    def of_one(weights: Weights, ids: Tensor) -> Weights:
        logits, pullback = torch.func.vjp(lambda w: logits_of(model, w, ids), weights)
        found: Weights = pullback(error(model, logits, ids))[0]
        return found

    def of_all(weights: Weights, ids: Tensor, shared: bool) -> Weights:
        with bfloat16_if_faster(model.device):
            found: Weights = torch.func.vmap(of_one, in_dims=(None if shared else 0, 0))(weights, ids)
        return found

    return of_all


def one_alone(model: PreTrainedModel, error: Error = token_error) -> Gradients:
    """Gradients of the only slot, by plain automatic differentiation."""
    import torch

    def of_one(weights: Weights, ids: Tensor, shared: bool) -> Weights:
        (own,) = ids
        leaves = {n: (w if shared else w[0]).detach().requires_grad_() for n, w in weights.items()}
        logits = logits_of(model, leaves, own)
        found = torch.autograd.grad(logits, list(leaves.values()), error(model, logits.detach(), own))
        return {name: gradient[None] for name, gradient in zip(leaves, found, strict=True)}

    return of_one


def only_shown(tokens: Int[np.ndarray, " token"]) -> Int[np.ndarray, " token"]:
    """Tokens as they stand in a row where they are shown and not scored: below `NO_TOKEN`; its own inverse."""
    return np.asarray(-2 - tokens)


def slots_are_alike(
    model: PreTrainedModel, slots: int, weights: Weights | None = None, error: Error = token_error, places: int = 1
) -> bool:
    """Whether `side_by_side` takes a copy of `model` and gives `slots` clients of the same tokens the same bytes.

    Tried on made-up tokens in the smallest shape, where least of a client fills whole registers: no client decides it.
    `weights` are those that are trained; None: all. `places` are the rows of tokens that an `error` is of.
    """
    import torch

    rows = torch.arange(POSITIONS + 1, device=model.device) + torch.arange(places, device=model.device)[:, None]
    ids = rows.repeat(slots, 1, 1)
    common = {name: p.detach() for name, p in model.named_parameters()} if weights is None else weights
    (alike,) = over_cores(lambda shown: _agree(model, shown, common, error), [ids], 1, model.device)
    return alike


def _agree(model: PreTrainedModel, ids: Tensor, common: Weights, error: Error) -> bool:
    import torch

    own = {name: p.repeat(len(ids), *[1] * p.dim()) for name, p in common.items()}
    gradients = side_by_side(copy.deepcopy(model), error)
    try:
        found = [*gradients(common, ids, True).values(), *gradients(own, ids, False).values()]
    except (RuntimeError, NotImplementedError, ValueError):
        return False
    return all(torch.equal(bits, bits[:1].expand_as(bits)) for bits in (each.view(torch.int32) for each in found))


def logits_of(model: PreTrainedModel, weights: Mapping[str, Tensor], ids: Tensor) -> Tensor:
    """What the model says after each shown token of the rows `ids`, with these weights in place of its own."""
    import torch

    shown = torch.where(ids < -1, -2 - ids, ids.clamp(min=0))  # only_shown
    inputs = {"input_ids": shown[:, :-1], "use_cache": False}
    return torch.func.functional_call(model, dict(weights), (), inputs).logits.float()
