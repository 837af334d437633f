"""J continuations of each of K prompts from one prefill: branches of one cached sequence.

A prompt is read once. Its J responses then grow side by side in the same row: one forward step takes J tokens a row,
all at the same position, and an attention mask lets branch j see the prompt and the tokens of branch j only. So keys
and values of the prompt are computed, stored and read once for J responses instead of J times; the rest is the model's
own code. Any model with attention-only layers, a 4D mask and explicit positions will do (Llama, GPT-2, Qwen, ...)
whose layers see the whole row; `refuse_unfit` names one that does not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jaxtyping import Bool, Float, Int

from fedtext.generation.drawing import draw_tokens
from fedtext.generation.kv_cache import new_cache
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel
    from transformers.cache_utils import Cache

BRANCHES = 16  # a branch also scores the other branches' tokens before they are masked: past this, prompts are repeated
CHECK_EVERY = 8  # steps between looks at which responses are complete
SHRINK = 0.6  # complete responses are dropped when the batch gets at least this small


@dataclass
class Branches:
    """Decoding state. `responses` names the response of every branch; the same one may stand in several branches.

    Attributes:
        cache: Keys and values, per row: the prompt (left-padded), then one token of every branch for every step.
        padding: Additive mask of the prompt's padding, row x prompt.
        positions: Position of the first generated token, row.
        responses: Index into the caller's responses, row x branch.
        tokens: Token drawn last, row x branch.
        steps: Tokens of every branch in the cache.
    """

    cache: Cache
    padding: Float[Tensor, "row prompt"]
    positions: Int[Tensor, " row"]
    responses: Int[Tensor, "row branch"]
    tokens: Int[Tensor, "row branch"]
    most: int
    steps: int = 0

    def __post_init__(self) -> None:
        self._mask = self._full_mask()

    def _full_mask(self) -> Float[Tensor, "row 1 branch key"]:
        """Additive mask for all steps to come: a shorter one is its beginning, so every step takes a slice."""
        import torch

        rows, width = self.responses.shape
        blocked = torch.finfo(self.padding.dtype).min
        own = torch.eye(width, dtype=torch.bool, device=self.padding.device).repeat(1, self.most)
        branches = torch.zeros_like(own, dtype=self.padding.dtype).masked_fill_(~own, blocked)
        prompt = self.padding[:, None, None].expand(-1, 1, width, -1)
        return torch.cat([prompt, branches.expand(rows, 1, -1, -1)], dim=-1)

    def forward(self, model: PreTrainedModel) -> Float[Tensor, "row branch token"]:
        """One step: logits that follow `tokens`."""
        width = self.responses.shape[1]
        self.steps += 1
        seen = self.padding.shape[1] + self.steps * width
        output = model(
            input_ids=self.tokens,
            attention_mask=self._mask[..., :seen],
            position_ids=(self.positions + self.steps - 1)[:, None].expand(-1, width),
            past_key_values=self.cache,
            use_cache=True,
        )
        return output.logits

    def drop(self, complete: Bool[Tensor, " response"]) -> None:
        """Leaves complete responses out, when that makes the batch markedly smaller."""
        open_ = ~complete[self.responses]
        rows = open_.any(1).nonzero()[:, 0]
        width = int(open_.sum(1).max())
        if len(rows) * width > SHRINK * open_.numel():
            return
        # A row keeps its open branches; one with fewer than the widest keeps complete ones to fill up.
        kept = (~open_[rows]).int().argsort(dim=1, stable=True)[:, :width]
        prompt, steps = self.padding.shape[1], self.steps

        def change(x: Tensor) -> Tensor:
            import torch

            x = x[rows]
            grown = x[:, :, prompt:].unflatten(2, (steps, -1))
            index = kept[:, None, None, :, None].expand(-1, x.shape[1], steps, -1, x.shape[3])
            return torch.cat([x[:, :, :prompt], grown.gather(3, index).flatten(2, 3)], dim=2)

        for layer in self.cache.layers:
            layer.rearrange(change, prompt + self.most * width)
        self.padding, self.positions = self.padding[rows], self.positions[rows]
        self.responses, self.tokens = self.responses[rows].gather(1, kept), self.tokens[rows].gather(1, kept)
        self._mask = self._full_mask()


def start(
    model: PreTrainedModel, ids: Int[Tensor, "row prompt"], real: Int[Tensor, "row prompt"], responses: int, most: int
) -> tuple[Branches, Float[Tensor, "row branch token"]]:
    """Reads every prompt once; branches without tokens, and the logits of their first token."""
    import torch

    groups = -(-responses // BRANCHES)
    width = -(-responses // groups)
    cache = new_cache(room=most * width)
    positions = (real.cumsum(-1) - 1).clamp_(min=0)
    logits = model(
        input_ids=ids,
        attention_mask=real,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    ).logits[:, -1:]
    if groups > 1:
        for layer in cache.layers:
            layer.rearrange(partial(torch.repeat_interleave, repeats=groups, dim=0), ids.shape[1] + most * width)
    # With a width that does not divide J, the last branches repeat the last response: same draws, same tokens.
    slots = torch.arange(groups * width, device=ids.device).clamp_(max=responses - 1)
    numbers = torch.arange(len(ids), device=ids.device)[:, None] * responses + slots
    padding = torch.zeros(real.shape, dtype=model.dtype, device=ids.device)
    padding = padding.masked_fill_(real == 0, torch.finfo(model.dtype).min).repeat_interleave(groups, dim=0)
    first = (positions[:, -1] + 1).repeat_interleave(groups)
    named = numbers.reshape(-1, width)
    branches = Branches(cache, padding, first, named, torch.zeros_like(named), most)
    return branches, logits.repeat_interleave(groups, dim=0).expand(-1, width, -1)


def refuse_unfit(model: PreTrainedModel, longest: int) -> None:
    """Raise ValueError for a model that does not read what the mask shows it, with `longest` tokens in a cached row.

    Branches share the row, so one response's tokens do not stand side by side in it. A layer that looks back a number
    of places only, whatever the mask says, would silently read others.
    """
    config = model.config.get_text_config()
    named = config.name_or_path or config.model_type
    if "position_ids" not in inspect.signature(type(model).forward).parameters:
        raise InputError(f"{named} takes no positions, so responses cannot share a prompt: take another generator")
    window = _window(config)
    if window is not None and window < longest:
        raise InputError(
            f"{named} looks back {window} tokens only; a prompt with its responses takes {longest}: take a generator "
            "with full attention, fewer responses a prompt, or lower sampler.max_new_tokens"
        )


def _window(config: Any) -> int | None:
    """How far the model's local layers look back; None if all of them see the whole text."""
    kinds = getattr(config, "layer_types", None) or getattr(config, "attention_layers", None) or ("local",)
    if not getattr(config, "use_sliding_window", True) or not set(kinds) - {"full_attention", "global"}:
        return None
    window: int | None = getattr(config, "sliding_window", None) or getattr(config, "window_size", None)
    return window


def decode(
    model: PreTrainedModel,
    ids: Int[Tensor, "row prompt"],
    real: Int[Tensor, "row prompt"],
    uniforms: Float[Tensor, "response step"],
    *,
    temperature: float,
    top_p: float,
    min_p: float,
    is_complete: Callable[[Int[Tensor, "response step"]], Bool[Tensor, " response"]],
) -> Int[Tensor, "response step"]:
    """Continuations of left-padded prompts, one row of `uniforms` for each of J responses a prompt, prompt by prompt.

    Decoding ends when `is_complete` holds for every response, asked every few steps about those still open; tokens past
    a response's completion mean nothing.
    """
    import torch

    total, most = uniforms.shape
    tokens = torch.zeros(total, most, dtype=torch.long, device=ids.device)
    complete = torch.zeros(total, dtype=torch.bool, device=ids.device)
    with torch.inference_mode():
        branches, logits = start(model, ids, real, total // len(ids), most)
        for step in range(most):
            draws = uniforms[:, step][branches.responses]
            branches.tokens = draw_tokens(logits, draws, temperature=temperature, top_p=top_p, min_p=min_p)
            tokens[branches.responses, step] = branches.tokens
            if step % CHECK_EVERY == CHECK_EVERY - 1:
                left = (~complete).nonzero()[:, 0]
                complete[left] = is_complete(tokens[left, : step + 1])
                if complete.all():
                    break
                branches.drop(complete)
            if step + 1 < most:
                logits = branches.forward(model)
    return tokens
