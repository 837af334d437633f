"""A second module around the very same tensors, for a caller that changes modules and not weights."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def shell(model: PreTrainedModel) -> PreTrainedModel:
    """`model` with modules of its own; weights and buffers are the given ones, and are not copied."""
    shared = (*model.parameters(), *model.buffers())
    return copy.deepcopy(model, {id(tensor): tensor for tensor in shared})
