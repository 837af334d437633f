"""A key-value cache that is filled in place.

transformers' dynamic cache copies all keys and values at every step to append one token, and its static cache attends
to places not yet filled. This one keeps buffers with room for the whole continuation and hands out their filled part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from transformers.cache_utils import Cache


def new_cache(room: int) -> Cache:
    """An empty cache; a layer's first update (the prompt) allocates space for itself and `room` tokens more."""
    from transformers.cache_utils import Cache, DynamicLayer

    class GrowingLayer(DynamicLayer):  # type: ignore[misc]
        """Keys and values (row, head, token, size) are views of the filled part of two buffers."""

        keys: Tensor
        values: Tensor

        def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
            start = self.get_seq_length()
            if start == 0:
                self.lazy_initialization(keys, values)
                self._fill((keys, values), keys.shape[2] + room)
                return self.keys, self.values
            end = start + keys.shape[2]
            for buffer, new in zip(self.buffers, (keys, values), strict=True):
                buffer[:, :, start:end] = new
            self.keys, self.values = (buffer[:, :, :end] for buffer in self.buffers)
            return self.keys, self.values

        def rearrange(self, change: Callable[[Tensor], Tensor], length: int) -> None:
            """Replaces the filled part by `change` of it, in new buffers of `length` tokens."""
            self._fill((change(self.keys), change(self.values)), length)

        def _fill(self, filled: tuple[Tensor, Tensor], length: int) -> None:
            self.buffers = [x.new_empty(*x.shape[:2], length, x.shape[3]) for x in filled]
            for buffer, x in zip(self.buffers, filled, strict=True):
                buffer[:, :, : x.shape[2]] = x
            self.keys, self.values = (buffer[:, :, : filled[0].shape[2]] for buffer in self.buffers)

    return Cache(layer_class_to_replicate=GrowingLayer)
