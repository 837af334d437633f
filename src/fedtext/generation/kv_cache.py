"""A key-value cache of branches: the keys of a prompt once, whatever many responses continue it, and each one's own.

transformers' caches have one row a response, so a prompt's keys stand there once for each of its responses, and a
response that is complete stays in the batch until all are. Here branches leave without moving a prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jaxtyping import Float, Int

if TYPE_CHECKING:
    from torch import Tensor
    from transformers.cache_utils import Cache


@dataclass
class Layout:
    """Which prompt each branch continues. Branches of a prompt stand together, in the order of the prompts.

    Attributes:
        padding: Additive mask of the prompts' padding on the left, prompt x place.
        prompts: Row of `padding` for every branch, ascending.
    """

    padding: Float[Tensor, "prompt place"]
    prompts: Int[Tensor, " branch"]

    def __post_init__(self) -> None:
        import torch

        counts = torch.bincount(self.prompts, minlength=len(self.padding))
        firsts = counts.cumsum(0) - counts
        self.numbers = torch.arange(len(self.prompts), device=self.prompts.device) - firsts[self.prompts]
        # As many branches for every prompt as the one with most has: the missing ones repeat its last.
        slots = torch.arange(int(counts.max()), device=self.prompts.device)
        self.slots = firsts[:, None] + torch.minimum(slots, counts[:, None] - 1)

    def by_prompt(self, x: Float[Tensor, "branch head query size"]) -> Float[Tensor, "prompt head queries size"]:
        """The queries of a prompt's branches side by side."""
        return x[self.slots].transpose(1, 2).flatten(2, 3)

    def by_branch(self, x: Float[Tensor, "prompt head queries ..."]) -> Float[Tensor, "branch head query ..."]:
        """What was found `by_prompt`, given back to each branch."""
        return x.unflatten(2, (self.slots.shape[1], -1)).transpose(1, 2)[self.prompts, self.numbers]

    def mask(self, steps: int) -> Float[Tensor, "branch 1 1 key"]:
        """Additive mask of `BranchLayer.whole` keys."""
        import torch

        own = self.padding.new_zeros(len(self.prompts), steps)
        return torch.cat([self.padding[self.prompts], own], dim=1)[:, None, None]


def new_cache(layout: Layout, room: int, *, in_parts: bool) -> Cache:
    """An empty cache; its first update is the prompts', each later one a token of every branch, at most `room` of them.

    `in_parts`: an update hands out the branches' own keys and values, and whoever attends to them looks up `prompt`
    (generation/branch_attention.py). Otherwise it hands out whole ones, as any attention reads them.
    """
    from transformers.cache_utils import Cache, DynamicLayer

    class BranchLayer(DynamicLayer):  # type: ignore[misc]
        """`prompt`: keys and values (prompt, head, place, size). `own`: buffers (branch, head, step, size)."""

        steps = 0

        def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
            if not self.is_initialized:
                self.lazy_initialization(keys, values)
                self.layout, self.prompt = layout, (keys, values)
                self.own = tuple(x.new_empty(len(layout.prompts), x.shape[1], room, x.shape[3]) for x in (keys, values))
                return keys, values
            for buffer, new in zip(self.own, (keys, values), strict=True):
                buffer[: len(new), :, self.steps] = new[:, :, 0]
            self.steps += 1
            return self.own_parts() if in_parts else self.whole()

        def get_seq_length(self) -> int:
            return self.prompt[0].shape[2] + self.steps if self.is_initialized else 0

        def own_parts(self) -> tuple[Tensor, Tensor]:
            keys, values = (buffer[: len(self.layout.prompts), :, : self.steps] for buffer in self.own)
            return keys, values

        def whole(self) -> tuple[Tensor, Tensor]:
            """A copy of its prompt's keys and values before each branch's own."""
            import torch

            read = zip(self.prompt, self.own_parts(), strict=True)
            keys, values = (torch.cat([shared[self.layout.prompts], own], dim=2) for shared, own in read)
            return keys, values

        def keep(self, branches: Tensor, prompts: Tensor, left: Layout) -> None:
            """Leaves out all but these branches and prompts, which stand as in `left`."""
            for buffer in self.own:
                buffer[: len(branches), :, : self.steps] = buffer[branches, :, : self.steps]
            if len(prompts) < len(self.prompt[0]):
                self.prompt = tuple(x[prompts] for x in self.prompt)
            self.layout = left

    return Cache(layer_class_to_replicate=BranchLayer)
