"""A second module around the same tensors, for callers that change modules and not weights."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def weight_sharing_copy(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy of `model` with its own modules, which shares the weights and buffers."""
    shared = (*model.parameters(), *model.buffers())
    return copy.deepcopy(model, {id(tensor): tensor for tensor in shared})
