"""J continuations of each of K prompts from one prefill: branches that share their prompt.

A prompt is read once. Its J responses then grow side by side, one token each at a step. Keys and values of the prompt
are computed, stored and read once for J responses instead of J times, and a response that is complete leaves the batch:
no step is taken for it. Any model with attention-only layers, a 4D mask and explicit positions will do (Llama, GPT-2,
Qwen, ...) whose layers see the whole text; `refuse_unfit` names one that does not.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jaxtyping import Bool, Float, Int

from fedtext.generation.branch_attention import attends_in_parts, step_of
from fedtext.generation.drawing import draw_tokens, penalised
from fedtext.generation.favoured_words import FavouredTokens
from fedtext.generation.kv_cache import Layout, new_cache
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel
    from transformers.cache_utils import Cache

CHECK_EVERY = 2  # steps between looks at which responses are complete
SHRINK = 0.9  # complete responses are dropped when the batch gets at least this small: to drop is to copy the others


@dataclass
class Branches:
    """Decoding state of the responses that are not dropped.

    Attributes:
        cache: Keys and values of the prompts, and of one token of every branch for every step.
        layout: The prompt of every branch.
        positions: Position of its first generated token, branch.
        responses: Index into the caller's responses, branch.
        tokens: Token drawn last, branch.
        steps: Tokens of every branch in the cache.
    """

    cache: Cache
    layout: Layout
    positions: Int[Tensor, " branch"]
    responses: Int[Tensor, " branch"]
    tokens: Int[Tensor, " branch"]
    steps: int = 0

    def forward(self, model: PreTrainedModel) -> Float[Tensor, "branch token"]:
        """One step: logits that follow `tokens`."""
        self.steps += 1
        with step_of(self.cache):
            output = model(
                input_ids=self.tokens[:, None],
                attention_mask=self.layout.mask(self.steps),
                position_ids=(self.positions + self.steps - 1)[:, None],
                past_key_values=self.cache,
                use_cache=True,
            )
        logits: Tensor = output.logits[:, -1]
        return logits

    def drop(self, complete: Bool[Tensor, " response"]) -> None:
        """Leaves complete responses out, when that makes the batch markedly smaller."""
        kept = (~complete[self.responses]).nonzero()[:, 0]
        if len(kept) > SHRINK * len(self.responses):
            return
        prompts, of_branches = self.layout.prompts[kept].unique(return_inverse=True)
        self.layout = Layout(self.layout.padding[prompts], of_branches)
        for layer in self.cache.layers:
            layer.keep(kept, prompts, self.layout)
        self.positions, self.responses, self.tokens = (x[kept] for x in (self.positions, self.responses, self.tokens))


def start(
    model: PreTrainedModel, ids: Int[Tensor, "row prompt"], real: Int[Tensor, "row prompt"], responses: int, most: int
) -> tuple[Branches, Float[Tensor, "branch token"]]:
    """Reads every prompt once; branches without tokens, and the logits of their first token."""
    import torch

    prompts = torch.arange(len(ids), device=ids.device).repeat_interleave(responses)
    padding = torch.zeros(real.shape, dtype=model.dtype, device=ids.device)
    layout = Layout(padding.masked_fill_(real == 0, torch.finfo(model.dtype).min), prompts)
    cache = new_cache(layout, most, in_parts=attends_in_parts(model))
    positions = (real.cumsum(-1) - 1).clamp_(min=0)
    logits = model(
        input_ids=ids,
        attention_mask=real,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    ).logits[:, -1]
    numbers = torch.arange(len(prompts), device=ids.device)
    first = (positions[:, -1] + 1)[prompts]
    return Branches(cache, layout, first, numbers, torch.zeros_like(numbers)), logits[prompts]


def refuse_unfit(model: PreTrainedModel, longest: int) -> None:
    """Raise ValueError for a model that does not read what the mask shows it, with `longest` tokens in a cached row.

    A layer that looks back a number of places only leaves out part of the text, or reads part of it in another way
    than it was trained to.
    """
    config = model.config.get_text_config()
    named = config.name_or_path or config.model_type
    if "position_ids" not in inspect.signature(type(model).forward).parameters:
        raise InputError(f"{named} takes no positions, so responses cannot share a prompt: take another generator")
    window = _window(config)
    if window is not None and window < longest:
        raise InputError(
            f"{named} looks back {window} tokens only; a prompt with its response takes {longest}: take a generator "
            "with full attention, or lower chunking.length or sampler.max_new_tokens"
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
    favoured: FavouredTokens | None = None,
    repetition_penalty: float = 1.0,
    never_first: Bool[Tensor, " token"] | None = None,
) -> Int[Tensor, "response step"]:
    """Continuations of left-padded prompts, one row of `uniforms` for each of J responses a prompt, prompt by prompt.

    Decoding ends when `is_complete` holds for every response, asked every few steps about those still open; tokens past
    a response's completion mean nothing. `favoured` is of these prompts: added before temperature, top-p and min-p.
    `repetition_penalty` is of the tokens that a response holds, and `never_first` are tokens that none begins with.
    """
    import torch

    total, most = uniforms.shape
    tokens = torch.zeros(total, most, dtype=torch.long, device=ids.device)
    complete = torch.zeros(total, dtype=torch.bool, device=ids.device)
    with torch.inference_mode():
        branches, logits = start(model, ids, real, total // len(ids), most)
        for step in range(most):
            if favoured is not None:
                logits = favoured.added_to(logits, branches.responses // (total // len(ids)), step)
            if repetition_penalty > 1 and step:
                logits = penalised(logits, tokens[branches.responses, :step], repetition_penalty)
            if never_first is not None and step == 0:
                logits = logits.masked_fill(never_first, -math.inf)
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
