"""A model's head, more than half of a small model's work, spared what is not scored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jaxtyping import Bool

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


@contextmanager
def head_of(model: PreTrainedModel, wanted: Bool[Tensor, "row position"]) -> Iterator[None]:
    """`model` gives logits of the `wanted` positions alone in this context, row by row, (position, token).

    The head is handed them by a hook, so that whatever a model does to its logits (scaling, capping) still happens.
    """
    hook = model.get_output_embeddings().register_forward_pre_hook(lambda _, given: (given[0][wanted],))
    try:
        yield
    finally:
        hook.remove()
