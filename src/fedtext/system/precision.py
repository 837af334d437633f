"""Weights in fewer bits where a model decodes faster with them, with unbiased rounding.

Round-to-nearest discards every update smaller than half a step of the weight it is added to. A gently trained adapter
consists of such updates when it is merged into a model of few bits. Stochastic rounding, up with the probability of the
remainder, keeps an update on average; a value that is representable stays as it is.

A CPU without bfloat16 units multiplies float32, yet reads float16. A decoding step that multiplies few rows waits for
weights. Packed in float16, in the order in which they are read, they take half the time at 16 rows; at a hundred rows
arithmetic dominates (benchmarks/packed.py). Products and sums stay in float32. The outputs of a head are computed in
blocks: otherwise each of its 49,152 rows lies on another memory page, which takes half as long again, for the same
bits.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from fedtext.system.cores import over_cores
from fedtext.system.hardware import float16_packs, is_bfloat16_faster
from fedtext.system.weight_sharing import weight_sharing_copy

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedModel

BFLOAT16_DROPS, FLOAT16_DROPS = 16, 13  # of a float32's bits, the lowest
OUTPUTS_AT_ONCE = 2048  # of a packed product; half and twice as many take as long


def round_to_bfloat16(values: Tensor) -> Tensor:
    """Round float32 `values` to bfloat16 without bias: E[result] = value, with fixed randomness so that it repeats."""
    import torch

    return _rounded(values, BFLOAT16_DROPS).to(torch.bfloat16)


def round_to_float16(values: Tensor) -> Tensor:
    """Round float32 `values` to float16's range, 6e-5 to 65504, in the way of `round_to_bfloat16`."""
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
    """Return `model` itself, or a copy in fewer bits where that decodes faster; buffers (rotary frequencies) are kept.

    The copy is in bfloat16 where the hardware multiplies it. Else its products are packed in float16, on a CPU whose
    torch has them.
    """
    import torch

    copied = scoring_copy(model)
    packs = copied.dtype == torch.float32 and float16_packs(copied.device)
    return packed_copy(copied) if packs else copied


def scoring_copy(model: PreTrainedModel) -> PreTrainedModel:
    """Return `model` itself, or a copy in bfloat16 where the hardware multiplies it, for passes over whole texts.

    Hundreds of rows are multiplied at once there: packed products take a quarter longer than float32's.
    """
    import torch

    return _in_bfloat16(model) if model.dtype == torch.float32 and is_bfloat16_faster(model.device) else model


def packed_copy(model: PreTrainedModel) -> PreTrainedModel:
    """Return `model` with its products packed in float16, for a CPU where `float16_packs`; other weights are shared."""
    from torch import nn

    packed = weight_sharing_copy(model)
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
        """A linear layer whose weights are packed in float16."""

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
