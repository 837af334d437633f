"""Gradients of single units by Opacus: one forward and backward pass of all slots, whose layers keep each row's own.

Opacus' hooks take a layer's inputs and the derivative of its outputs, and multiply them row by row. Frozen layers have
no hooks, so an adapter costs little more than a plain backward pass. `torch.func.vmap`
(fedtext.training.client_gradients) maps every kernel over the slots instead. On a GPU Opacus is the faster of the two,
on a CPU it is not (docs/benchmarks.md).

Only the gradients are Opacus'. Its optimizer clips in floating point and adds floating-point noise to a sum. Here each
unit's gradient is clipped, put on the grid and summed by the release mechanism, which adds exact noise
(fedtext.federation). Ghost clipping does not apply: it computes the norms of gradients and their clipped sum, but no
unit's own gradient, which is what a unit sends.
"""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING

from fedtext.system.hardware import bfloat16_if_faster, is_bfloat16_faster
from fedtext.system.weight_sharing import weight_sharing_copy
from fedtext.training.client_gradients import made_up_rows, one_alone, shown_ids, token_error

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from fedtext.training.client_gradients import Error, Gradients, Weights

FARTHEST = {True: 0.1, False: 1e-4}  # from plain differentiation, of a gradient's norm; True: in bfloat16


def by_opacus(model: PreTrainedModel, error: Error = token_error) -> Gradients:
    """Return a function that computes all slots' gradients, at weights that they share, through Opacus' hooks.

    Args:
        model: Is not changed; frozen weights are shared with it.
        error: Derivative of one slot's loss with respect to its logits.
    """
    import torch
    from opacus import GradSampleModule

    plain = weight_sharing_copy(model)  # without hooks, for losses that read a model themselves
    plain.set_attn_implementation("eager")
    hooked = _with_own_trained_weights(model)
    trained = {name: p for name, p in hooked.named_parameters() if p.requires_grad}
    for module in hooked.modules():  # Opacus looks at layers in training mode; dropout stays off
        module.training = any(p.requires_grad for p in module.parameters(recurse=False))
    layers = GradSampleModule(hooked, loss_reduction="sum", strict=False)
    warnings.filterwarnings("ignore", message="Full backward hook is firing")  # of layers whose input is not trained

    def of_all(weights: Weights, ids: Tensor, shared: bool) -> Weights:
        if not shared:
            raise NotImplementedError("slots with weights of their own")
        with torch.no_grad():
            for name, own in trained.items():
                own.copy_(weights[name])
        rows = shown_ids(ids.flatten(0, 1))[:, :-1]
        positions = torch.arange(rows.shape[1], device=rows.device).expand(rows.shape)  # each row's own: it has a layer
        with bfloat16_if_faster(ids.device):
            logits = layers(input_ids=rows, position_ids=positions, use_cache=False).logits.float()
            told = logits.detach().unflatten(0, ids.shape[:2])
            errors = torch.func.vmap(lambda own, shown: error(plain, own, shown))(told, ids)
        logits.backward(errors.flatten(0, 1))
        found = {name: own.grad_sample.float().unflatten(0, ids.shape[:2]).sum(1) for name, own in trained.items()}
        for own in trained.values():
            own.grad = own.grad_sample = None
        return found

    return of_all


def opacus_agrees(model: PreTrainedModel, slots: int, weights: Weights, error: Error, places: int) -> bool:
    """Return whether Opacus gives a unit the same bytes in every slot and company, near those of plain differentiation.

    A layer that mixes rows, or takes its input otherwise than as the first argument, would not; nor does an embedding
    with a padding token, whose gradient is zero. It is tried on made-up tokens, so the result depends on no unit.
    """
    import torch

    rows = made_up_rows(model.device, places)
    company = torch.stack([rows + 1] * (slots - 1) + [rows])
    try:
        gradients = by_opacus(model, error)
        alike, last = gradients(weights, rows.repeat(slots, 1, 1), True), gradients(weights, company, True)
    except (RuntimeError, NotImplementedError, ValueError, AttributeError, TypeError):
        return False
    truth = one_alone(copy.deepcopy(model), error)(weights, rows[None], True)
    same = (torch.equal(_bits(alike[name]), _bits(last[name][-1:].expand_as(alike[name]))) for name in truth)
    off, whole = (torch.stack([part.norm() for part in parts]).norm() for parts in (
        [alike[name][0] - truth[name][0] for name in truth], [truth[name][0] for name in truth]
    ))  # fmt: skip
    return all(same) and bool(off <= FARTHEST[is_bfloat16_faster(model.device)] * whole)


def _bits(values: Tensor) -> Tensor:
    import torch

    return values.contiguous().view(torch.int32)


def _with_own_trained_weights(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy of the model whose trained weights are its own, and whose other weights are the model's."""
    frozen = (*(p for p in model.parameters() if not p.requires_grad), *model.buffers())
    return copy.deepcopy(model, {id(tensor): tensor for tensor in frozen})
