"""Per-unit gradients at common weights, which DP-SGD clips and sums.

A unit's gradient is that of the mean loss of its examples (`fedtext.training.dp_losses`). It depends on the unit
alone, to the bit: examples are computed in a shape that their own unit determines, in slots that are each computed as
if alone (`fedtext.training.client_gradients`), and are summed in their own order. Only the trained weights have
gradients: those of a LoRA adapter, or all of a model.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int, Int64

from fedtext.federation.units import Block
from fedtext.system.cores import over_cores, per_thread
from fedtext.system.weight_sharing import weight_sharing_copy
from fedtext.training.client_gradients import one_alone, side_by_side, slots_are_alike
from fedtext.training.cuda_graphs import CapturedGraphs
from fedtext.training.dp_losses import TEXTS, UnitLoss
from fedtext.training.local_steps import NO_TOKEN, LocalSteps, groups_of_one_shape, positions_of, shown_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor
    from transformers import PreTrainedModel

    from fedtext.training.client_gradients import Gradients, Weights


class UnitGradients:
    """Gradients of units' losses with respect to those weights of a causal language model that require them.

    Args:
        model: In evaluation mode and float32 from now on; frozen weights are shared by all threads and never copied.
        at_once: Units side by side in one call, on a CPU by each core; another number may change their last bits.
        vectorised: Whether units share calls; None tests whether the model allows it.
        loss: Loss of one example.
    """

    def __init__(
        self, model: PreTrainedModel, at_once: int, vectorised: bool | None = None, loss: UnitLoss = TEXTS
    ) -> None:
        self._model, self._loss, self._at_once = model.float().eval(), loss, at_once
        self._trained = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
        if vectorised is None:
            vectorised = slots_are_alike(
                weight_sharing_copy(model), at_once, _anywhere(self._trained), loss.error, loss.rows
            )
        self._vectorised = vectorised
        self._slots, taken = (at_once, side_by_side) if vectorised else (1, one_alone)
        # A call swaps weights in and out of the module it is given, so each thread has its own.
        self._gradients = per_thread(lambda: CapturedGraphs(taken(weight_sharing_copy(model), loss.error)))

    def __reduce__(self) -> tuple[type[UnitGradients], tuple[object, ...]]:
        """Travel to a worker of the run's engine as what it was made from; threads of a worker have their own."""
        return UnitGradients, (self._model, self._at_once, self._vectorised, self._loss)

    def of(
        self,
        weights: Float[np.ndarray, " dim"],
        tokens: Int[np.ndarray, "example position"],
        unit: Int64[np.ndarray, " example"],
    ) -> Iterator[Block]:
        """Yield the unclipped gradient at `weights` of each unit that has an example, with its code.

        An example has as many successive rows as its loss needs. A row has a start token first and is filled up on the
        right with `NO_TOKEN`.
        """
        common = self._named(weights)
        rows = tokens.reshape(len(tokens) * self._loss.rows, tokens.shape[1] // self._loss.rows)
        groups = groups_of_one_shape(_rows_of_units(rows, unit, self._loss.rows), self._slots)
        yield from over_cores(
            lambda group: _summed(common, self._gradients(), group, shown_tokens(rows, group, self._slots)),
            groups,
            len(groups),
            self._model.device,
        )

    def _named(self, weights: Float[np.ndarray, " dim"]) -> Weights:
        import torch

        vector = torch.tensor(weights, dtype=torch.float32, device=self._model.device)
        parts = vector.split([p.numel() for p in self._trained.values()])
        return {name: part.view(p.shape) for part, (name, p) in zip(parts, self._trained.items(), strict=True)}


def _anywhere(trained: Weights) -> Weights:
    """Return random weights to test a model at: an untrained adapter's zeros would hide half of its computation."""
    import torch

    drawn = torch.Generator().manual_seed(0)
    return {name: 0.02 * torch.randn(p.shape, generator=drawn).to(p.device) for name, p in trained.items()}


def _rows_of_units(
    tokens: Int[np.ndarray, "row position"], unit: Int64[np.ndarray, " example"], rows: int
) -> Iterator[LocalSteps]:
    """Yield each unit's examples of `rows` rows in their order, one per step, by increasing code."""
    lengths = (tokens != NO_TOKEN).sum(axis=1)
    examples: dict[int, list[int]] = defaultdict(list)
    for example, code in enumerate(unit.tolist()):
        examples[code].append(example)
    for code in sorted(examples):
        own = rows * np.array(examples[code])[:, None] + np.arange(rows)
        yield LocalSteps(code, own, positions_of(int(lengths[own].max())))


def _summed(
    common: Weights, gradients: Gradients, group: list[LocalSteps], shown: Int64[np.ndarray, "step slot place position"]
) -> Block:
    """Compute mean gradients of a group, sorted by decreasing numbers of rows; finished units show no token."""
    import torch

    device = next(iter(common.values())).device
    total: Tensor = torch.zeros((len(group), sum(p.numel() for p in common.values())), device=device)
    for ids in torch.from_numpy(shown).to(device):
        found = gradients(common, ids, True)
        total += torch.cat([found[name][: len(group)].flatten(1) for name in common], dim=1)
    counts = np.array([len(own.rows) for own in group], dtype=np.float32)
    return Block(np.array([own.code for own in group], dtype=np.int64), total.cpu().numpy() / counts[:, None])
