"""Fewer bits a weight where a model decodes sooner with them, and how a small update survives the rounding.

Round-to-nearest throws away every update smaller than half a step of the weight it is added to, which is what a gently
trained adapter is made of when it is merged into a model of few bits. Rounding at random, up with the probability of
the remainder, keeps it on average; a value that needs no rounding stays as it is.

A CPU without units for bfloat16 multiplies float32, yet reads float16. A step of decoding that multiplies few rows
waits for weights. Packed once in the order in which they are read, at half the bytes, they take it half the time at 16
rows; at a hundred arithmetic decides (benchmarks/packed.py). What is multiplied and added is float32. A head's outputs
are computed in blocks: the rows of 49,152 of them lie so far apart that every row is another page at every turn, which
takes half as long again, for the same bits.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from fedtext.system.cores import over_cores
from fedtext.system.hardware import bfloat16_pays, float16_packs
from fedtext.system.weight_sharing import shell

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedModel

BFLOAT16_DROPS, FLOAT16_DROPS = 16, 13  # of a float32's bits, the lowest
OUTPUTS_AT_ONCE = 2048  # of a packed product; half and twice as many take as long


def round_to_bfloat16(values: Tensor) -> Tensor:
    """Unbiased bfloat16 rounding of float32 `values`: E[result] = value, with fixed draws so that it repeats."""
    import torch

    return _rounded(values, BFLOAT16_DROPS).to(torch.bfloat16)


def round_to_float16(values: Tensor) -> Tensor:
    """Float32 `values` rounded as `round_to_bfloat16` does to what a float16 can say, between 6e-5 and 65504."""
    import torch

    nearest = values.to(torch.float16)
    return (
        nearest if torch.equal(nearest.float(), values.float()) else _rounded(values, FLOAT16_DROPS).to(torch.float16)
    )


def _rounded(values: Tensor, dropped: int) -> Tensor:
    import torch

    generator = torch.Generator(values.device).manual_seed(0)
    draws = torch.randint(1 << dropped, values.shape, generator=generator, dtype=torch.int32, device=values.device)
    # On the bit pattern, adding a draw and cutting the lowest bits carries with the probability of the remainder.
    carried = values.float().contiguous().view(torch.int32) + draws
    return (carried >> dropped << dropped).view(torch.float32)


def decoding_copy(model: PreTrainedModel) -> PreTrainedModel:
    """`model` itself, or a copy of fewer bits where that decodes faster; buffers (rotary frequencies) stay as they are.

    In bfloat16 where the hardware multiplies it, else with products packed in float16 where a CPU's torch has them.
    """
    import torch

    if model.dtype != torch.float32:
        return model
    if bfloat16_pays(model.device):
        return _in_bfloat16(model)
    return packed_copy(model) if float16_packs(model.device) else model


def packed_copy(model: PreTrainedModel) -> PreTrainedModel:
    """`model` with its products packed in float16, for a CPU on which `float16_packs`; the rest is shared with it."""
    from torch import nn

    packed = shell(model)
    places = [
        (parent, name, child)
        for parent in packed.modules()
        for name, child in parent.named_children()
        if type(child) is nn.Linear  # one that does more, as an adapter's, stays as it is
    ]
    products = over_cores(lambda place: _packed_product(place[2]), places, len(places), model.device)
    for (parent, name, _), product in zip(places, products, strict=True):
        setattr(parent, name, product)
    return packed


def _in_bfloat16(model: PreTrainedModel) -> PreTrainedModel:
    import torch

    reduced = copy.deepcopy(model)
    for parameter in reduced.parameters():
        if parameter.dtype == torch.float32:
            parameter.data = round_to_bfloat16(parameter.data)
    return reduced


def _packed_product(linear: nn.Linear) -> nn.Module:
    import torch
    from torch import nn

    class PackedProduct(nn.Module):  # type: ignore[misc]
        """What a linear layer computes, its weights packed in float16."""

        def __init__(self) -> None:
            super().__init__()
            with torch.no_grad():
                weights = round_to_float16(linear.weight).float().split(OUTPUTS_AT_ONCE)
                biases = [None] * len(weights) if linear.bias is None else linear.bias.split(OUTPUTS_AT_ONCE)
                self.packed = list(map(torch.ops.quantized.linear_prepack_fp16, weights, biases))

        def forward(self, x: Tensor) -> Tensor:
            products = [torch.ops.quantized.linear_dynamic_fp16(x, block) for block in self.packed]
            return products[0] if len(products) == 1 else torch.cat(products, dim=-1)

    return PackedProduct()
