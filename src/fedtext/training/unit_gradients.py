"""Per-unit gradients at common weights, which DP-SGD clips and sums.

A unit's gradient is that of the mean loss of its examples (`fedtext.training.dp_losses`). It depends on the unit
alone, to the bit: examples are computed in a shape that their own unit determines, in slots that are each computed as
if alone (`fedtext.training.client_gradients`), and are summed in their own order. Only the trained weights have
gradients: those of a LoRA adapter, or all of a model.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from jaxtyping import Float, Int, Int64

from fedtext.federation.units import Block
from fedtext.params.training import GradientMethod
from fedtext.system.cores import over_cores, per_thread
from fedtext.system.weight_sharing import weight_sharing_copy
from fedtext.training.client_gradients import one_alone, side_by_side, slots_are_alike
from fedtext.training.cuda_graphs import CapturedGraphs
from fedtext.training.dp_losses import TEXTS, UnitLoss
from fedtext.training.local_steps import NO_TOKEN, LocalSteps, groups_of_one_shape, positions_of, shown_tokens
from fedtext.training.opacus_gradients import by_opacus, opacus_agrees

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor
    from transformers import PreTrainedModel

    from fedtext.training.client_gradients import Gradients, Weights


Method = Literal["opacus", "vmap", "alone"]


class UnitGradients:
    """Gradients of units' losses with respect to those weights of a causal language model that require them.

    Args:
        model: In evaluation mode and float32 from now on; frozen weights are shared by all threads and never copied.
        at_once: Units side by side in one call, on a CPU by each core; another number may change their last bits.
        method: How units share calls; one that does not suit the model is replaced (`suitable_method`).
        loss: Loss of one example.
    """

    def __init__(
        self, model: PreTrainedModel, at_once: int, method: GradientMethod = "auto", loss: UnitLoss = TEXTS
    ) -> None:
        self._prepare(model, at_once, suitable_method(model.float().eval(), at_once, method, loss), loss)

    @classmethod
    def by(cls, method: Method, model: PreTrainedModel, at_once: int, loss: UnitLoss = TEXTS) -> Self:
        """Return the gradients by a method that is known to suit the model."""
        made = cls.__new__(cls)
        made._prepare(model.float().eval(), at_once, method, loss)
        return made

    def _prepare(self, model: PreTrainedModel, at_once: int, method: Method, loss: UnitLoss) -> None:
        self.method, self._model, self._loss, self._at_once = method, model, loss, at_once
        self._slots = 1 if method == "alone" else at_once
        self._trained = _trained(model)
        # A call swaps weights in and out of the module it is given, so each thread has its own.
        self._gradients = per_thread(lambda: _computed_by(method, weight_sharing_copy(model), loss))

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Travel to a worker of the run's engine as what it was made from; threads of a worker have their own."""
        return UnitGradients.by, (self.method, self._model, self._at_once, self._loss)

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


def suitable_method(model: PreTrainedModel, at_once: int, method: GradientMethod, loss: UnitLoss = TEXTS) -> Method:
    """Return how units of this model share calls: as asked, or by the next method in which a unit stays by itself.

    `auto` asks for Opacus on a GPU and for `vmap` elsewhere. Where Opacus does not suit, `vmap` is next, and then a
    call for each unit.
    """
    weights = _anywhere(_trained(model))
    opacus = method == "opacus" or (method == "auto" and model.device.type == "cuda")
    if opacus and opacus_agrees(model, at_once, weights, loss.error, loss.rows):
        return "opacus"
    alike = slots_are_alike(weight_sharing_copy(model), at_once, weights, loss.error, loss.rows)
    return "vmap" if alike else "alone"


def _computed_by(method: Method, model: PreTrainedModel, loss: UnitLoss) -> Gradients:
    if method == "opacus":
        return by_opacus(model, loss.error)  # has too few kernels to gain much from a recording
    return CapturedGraphs((side_by_side if method == "vmap" else one_alone)(model, loss.error))


def _trained(model: PreTrainedModel) -> Weights:
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}


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
