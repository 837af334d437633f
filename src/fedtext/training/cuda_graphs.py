"""Gradients on a GPU that are said once and then replayed.

Gradients side by side are thousands of small kernels a call, and Python takes longer to say them one by one than the
GPU takes to compute them. A CUDA graph holds the kernels of one call: launched again, they read the numbers that
now lie where the first ones lay. They are the same kernels, so a replay has the bits of the call.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from fedtext.training.client_gradients import Gradients, Weights

log = logging.getLogger(__name__)

_WARM_UPS = 2  # what a library sets up at its first calls cannot be recorded
_MOST = 2**28  # numbers of a call's result: memory keeps one result for each shape of tokens


class CapturedGraphs:
    """`gradients`, recorded once for each shape of tokens where that pays: on a GPU, up to a gigabyte of results.

    A result is to be used before the next call, which may write over it.
    """

    def __init__(self, gradients: Gradients) -> None:
        self._gradients, self._records = gradients, True
        self._recorded: dict[tuple[bool, tuple[int, ...]], _Recording] = {}
        self._pool: Any = None  # of memory that all recordings write to, one at a time

    def __call__(self, weights: Weights, ids: Tensor, shared: bool) -> Weights:
        """`gradients(weights, ids, shared)`."""
        slots = len(ids) if shared else 1
        if not (self._records and ids.is_cuda and slots * sum(w.numel() for w in weights.values()) <= _MOST):
            return self._gradients(weights, ids, shared)
        shape = (shared, tuple(ids.shape))
        if shape not in self._recorded:
            try:
                self._recorded[shape] = _Recording(self._gradients, weights, ids, shared, self._pool)
            except RuntimeError as error:  # the model reads a number back, say, which a recording cannot hold
                log.warning("Gradients are computed without recordings, which takes longer: %s", error)
                self._records = False
                return self._gradients(weights, ids, shared)
            self._pool = self._recorded[shape].pool
        return self._recorded[shape].of(weights, ids)


class _Recording:
    """One call's kernels, with the memory that they read from and the `pool` of it that they write to."""

    def __init__(self, gradients: Gradients, weights: Weights, ids: Tensor, shared: bool, pool: Any) -> None:
        import torch

        self._weights, self._ids = {name: w.clone() for name, w in weights.items()}, ids.clone()
        here, aside = torch.cuda.current_stream(), torch.cuda.Stream()
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UPS):
                gradients(self._weights, self._ids, shared)
        here.wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, pool=pool):
            self._found = gradients(self._weights, self._ids, shared)
        self.pool = self._graph.pool()

    def of(self, weights: Weights, ids: Tensor) -> Weights:
        for name, own in self._weights.items():
            own.copy_(weights[name])
        self._ids.copy_(ids)
        self._graph.replay()
        return self._found
