"""Gradients of clients that each have weights of their own: side by side in one call, or one client per call.

Side by side, `torch.func.vmap` maps the model's vector-Jacobian product over clients. In a given shape each client has
a slot of its own: its result does not depend, to the bit, on its slot or on what the other slots hold.

A row of tokens holds real tokens; `NO_TOKEN`, which is not scored; and, encoded by `as_unscored`, tokens that are shown
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
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel

    Weights = dict[str, Tensor]
    # Maps the weights of each slot, or one set for all slots (shared), and tokens (slot, place, position) to gradients.
    Gradients = Callable[[Weights, Tensor, bool], Weights]
    # Maps a model, one slot's logits (place, position, token) and its ids (place, 1 + position) to the derivative of
    # that slot's loss with respect to the logits.
    Error = Callable[[PreTrainedModel, Tensor, Tensor], Tensor]


def token_error(model: PreTrainedModel, logits: Tensor, ids: Tensor) -> Tensor:
    """Compute the derivative of the mean cross-entropy of a batch's real tokens with respect to its logits."""
    real = (ids[:, 1:, None] >= 0).to(logits.dtype)
    return cross_entropy_error(logits, ids).mul_(real / real.sum().clamp(min=1.0))


def cross_entropy_error(logits: Tensor, ids: Tensor) -> Tensor:
    """Compute the derivative of each token's own cross-entropy with respect to its logits, unscored tokens included."""
    import torch

    labels = ids[:, 1:, None].clamp(min=0)
    error = logits.softmax(-1)  # changed in place: it is the largest tensor of the call
    return error.scatter_add_(-1, labels, -torch.ones_like(labels, dtype=logits.dtype))


def side_by_side(model: PreTrainedModel, error: Error = token_error) -> Gradients:
    """Return a function that computes all slots' gradients in one call; `model` uses eager attention from now on."""
    import torch

    model.set_attn_implementation("eager")  # vmap runs fused attention client by client, with a warning

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
    """Return a function that computes the gradients of a single slot by plain automatic differentiation."""
    import torch

    def of_one(weights: Weights, ids: Tensor, shared: bool) -> Weights:
        (own,) = ids
        leaves = {n: (w if shared else w[0]).detach().requires_grad_() for n, w in weights.items()}
        logits = logits_of(model, leaves, own)
        found = torch.autograd.grad(logits, list(leaves.values()), error(model, logits.detach(), own))
        return {name: gradient[None] for name, gradient in zip(leaves, found, strict=True)}

    return of_one


def as_unscored(tokens: Int[np.ndarray, " token"]) -> Int[np.ndarray, " token"]:
    """Encode tokens that are shown and not scored as numbers below `NO_TOKEN`; the function is its own inverse."""
    return np.asarray(-2 - tokens)


def slots_are_alike(
    model: PreTrainedModel, slots: int, weights: Weights | None = None, error: Error = token_error, places: int = 1
) -> bool:
    """Return whether `side_by_side` works on a copy of `model` and gives `slots` equal clients equal bytes.

    It is tried on made-up tokens in the smallest shape, where the least of a client fills whole vector registers, so
    the result depends on no client.

    Args:
        model: The model; only a copy of it is changed.
        slots: Number of clients per call.
        weights: The trained weights; None: all.
        error: Derivative of the loss with respect to the logits.
        places: Rows of tokens per example of `error`.
    """
    ids = made_up_rows(model.device, places).repeat(slots, 1, 1)
    common = {name: p.detach() for name, p in model.named_parameters()} if weights is None else weights
    (alike,) = over_cores(lambda shown: _agree(model, shown, common, error), [ids], 1, model.device)
    return alike


def made_up_rows(device: torch.device, places: int) -> Int[Tensor, "place shown"]:
    """Return the tokens that a model is tried on, in the smallest shape."""
    import torch

    return torch.arange(POSITIONS + 1, device=device) + torch.arange(places, device=device)[:, None]


def _agree(model: PreTrainedModel, ids: Tensor, common: Weights, error: Error) -> bool:
    import torch

    own = {name: p.repeat(len(ids), *[1] * p.dim()) for name, p in common.items()}
    gradients = side_by_side(copy.deepcopy(model), error)
    try:
        found = [*gradients(common, ids, True).values(), *gradients(own, ids, False).values()]
    except (RuntimeError, NotImplementedError, ValueError):
        return False
    return all(torch.equal(bits, bits[:1].expand_as(bits)) for bits in (each.view(torch.int32) for each in found))


def shown_ids(ids: Tensor) -> Tensor:
    """Return the tokens that rows show the model: it decodes `as_unscored`, and shows token 0 where there is none."""
    import torch

    return torch.where(ids < -1, -2 - ids, ids.clamp(min=0))


def logits_of(model: PreTrainedModel, weights: Mapping[str, Tensor], ids: Tensor) -> Tensor:
    """Compute the logits after each shown token of the rows `ids`, with these weights in place of the model's."""
    import torch

    inputs = {"input_ids": shown_ids(ids)[:, :-1], "use_cache": False}
    return torch.func.functional_call(model, dict(weights), (), inputs).logits.float()
