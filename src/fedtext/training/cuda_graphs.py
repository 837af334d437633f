"""Gradients on a GPU, captured as CUDA graphs and replayed.

Per-example gradients are thousands of small kernels per call, and Python takes longer to launch them one by one than
the GPU takes to compute them. A CUDA graph holds the kernels of one call. A replay launches the same kernels on new
values in the same memory, so it gives the bits of an ordinary call.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from fedtext.training.client_gradients import Gradients, Weights

log = logging.getLogger(__name__)

_WARM_UPS = 2  # calls before a capture: set-up at a library's first calls cannot be captured
_MOST = 2**28  # largest number of values in a result: one result per shape of tokens stays in memory


class CapturedGraphs:
    """Callable `gradients`, captured once per shape of tokens where that pays: on a GPU, up to a gigabyte of results.

    A result must be used before the next call, which may overwrite it.
    """

    def __init__(self, gradients: Gradients) -> None:
        self._gradients, self._records = gradients, True
        self._recorded: dict[tuple[bool, tuple[int, ...]], _Recording] = {}
        self._pool: Any = None  # memory pool shared by all captures, of which one runs at a time

    def __call__(self, weights: Weights, ids: Tensor, shared: bool) -> Weights:
        """Compute `gradients(weights, ids, shared)`."""
        slots = len(ids) if shared else 1
        if not (self._records and ids.is_cuda and slots * sum(w.numel() for w in weights.values()) <= _MOST):
            return self._gradients(weights, ids, shared)
        shape = (shared, tuple(ids.shape))
        if shape not in self._recorded:
            try:
                self._recorded[shape] = _Recording(self._gradients, weights, ids, shared, self._pool)
            except RuntimeError as error:  # for example, the model copies a value to the CPU, which cannot be captured
                log.warning("Gradients are computed without recordings, which takes longer: %s", error)
                self._records = False
                return self._gradients(weights, ids, shared)
            self._pool = self._recorded[shape].pool
        return self._recorded[shape].of(weights, ids)


class _Recording:
    """The captured kernels of one call, their input memory, and the memory `pool` that they write to."""

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
