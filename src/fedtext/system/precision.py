"""bfloat16 weights for decoding, and how a small update survives the rounding.

Round-to-nearest throws away every update smaller than half a step of the weight it is added to, which is what a gently
trained adapter is made of when it is merged into a bfloat16 model. Rounding at random, up with the probability of the
remainder, keeps it on average; a value that is already a bfloat16 number stays as it is.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from fedtext.system.hardware import bfloat16_pays

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

DROPPED_BITS = 16  # a bfloat16 is the upper half of a float32


def round_to_bfloat16(values: Tensor) -> Tensor:
    """Unbiased bfloat16 rounding of float32 `values`: E[result] = value, with fixed draws so that it repeats."""
    import torch

    generator = torch.Generator(values.device).manual_seed(0)
    draws = torch.randint(1 << DROPPED_BITS, values.shape, generator=generator, dtype=torch.int32, device=values.device)
    # On the bit pattern, adding a draw and cutting the lower half carries with the probability of the remainder.
    carried = values.float().contiguous().view(torch.int32) + draws
    return (carried >> DROPPED_BITS << DROPPED_BITS).view(torch.float32).to(torch.bfloat16)


def decoding_copy(model: PreTrainedModel) -> PreTrainedModel:
    """`model` itself, or its bfloat16 copy where that decodes faster; buffers (rotary frequencies) stay as they are."""
    import torch

    if model.dtype != torch.float32 or not bfloat16_pays(model.device):
        return model
    reduced = copy.deepcopy(model)
    for parameter in reduced.parameters():
        if parameter.dtype == torch.float32:
            parameter.data = round_to_bfloat16(parameter.data)
    return reduced
