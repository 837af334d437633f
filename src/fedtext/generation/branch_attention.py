"""Attention of many branches to the prompt they share and to their own tokens, in two parts that are put together.

A model's own attention would want the prompt's keys and values once for every branch, and once more for every query
head that shares them (Llama 3, Qwen, SmolLM2): at every step, in every layer, a copy of the whole cache. Queries that
read the same keys can as well stand side by side. So each prompt is read once for all heads and branches, each
branch's own tokens once for all heads, and the two are weighed by what their softmax divided by.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor
    from transformers import PreTrainedModel
    from transformers.cache_utils import Cache

NAME, PLAIN = "fedtext_branches", "sdpa"  # in transformers' register of attention functions
NOT_HERE = ("dropout", "softcap", "position_bias")  # options that only transformers' own function knows
CACHE: ContextVar[Cache | None] = ContextVar("cache", default=None)  # of the branches that are at a step on this thread


@contextmanager
def branch_attention(model: PreTrainedModel) -> Iterator[None]:
    """`model` attends in two parts in this context; one whose attention is its own stays as it is."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    if model.config._attn_implementation != PLAIN:
        yield
        return
    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(PLAIN)


def attends_in_parts(model: PreTrainedModel) -> bool:
    """Whether `model` is in that context."""
    return bool(model.config._attn_implementation == NAME)


@contextmanager
def step_of(cache: Cache) -> Iterator[None]:
    """A step of all branches of `cache` is taken in this context, on this thread."""
    token = CACHE.set(cache)
    try:
        yield
    finally:
        CACHE.reset(token)


def _attention(
    module: Any,
    query: Float[Tensor, "row head place size"],
    key: Float[Tensor, "row kept seen size"],
    value: Float[Tensor, "row kept seen size"],
    attention_mask: Float[Tensor, "row 1 place seen"] | None,
    **options: Any,
) -> tuple[Float[Tensor, "row place head size"], None]:
    """As transformers does it where a prompt is read; at a step, `key` and `value` are the branches' own."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    cache = CACHE.get()
    if cache is not None:
        layer = cache.layers[module.layer_idx]
        if not any(_is_given(options.get(name)) for name in NOT_HERE):
            return _in_parts(layer, query, key, value, options.get("scaling")), None
        key, value = layer.whole()
    plain: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    return plain


def _is_given(option: Any) -> bool:
    return option is not None and not (isinstance(option, float) and option == 0)


def _in_parts(
    layer: Any,
    query: Float[Tensor, "branch head 1 size"],
    key: Float[Tensor, "branch kept step size"],
    value: Float[Tensor, "branch kept step size"],
    scale: float | None,
) -> Float[Tensor, "branch 1 head size"]:
    import torch

    grouped = query.reshape(len(query), key.shape[1], -1, query.shape[-1])
    own, own_weight = _read(grouped, key, value, None, scale)
    layout, (prompt_key, prompt_value) = layer.layout, layer.prompt
    at_prompts = _read(layout.by_prompt(grouped), prompt_key, prompt_value, layout.padding[:, None, None], scale)
    shared, shared_weight = map(layout.by_branch, at_prompts)
    share = torch.sigmoid(own_weight - shared_weight)[..., None]
    found = torch.lerp(shared.float(), own.float(), share).to(query.dtype)
    return found.reshape(len(query), 1, query.shape[1], -1)


def _read(
    query: Float[Tensor, "row head query size"],
    key: Float[Tensor, "row head seen size"],
    value: Float[Tensor, "row head seen size"],
    mask: Float[Tensor, "row 1 1 seen"] | None,
    scale: float | None,
) -> tuple[Float[Tensor, "row head query size"], Float[Tensor, "row head query"]]:
    """What the queries find, and the logarithm of what their softmax divided by."""
    import torch

    if query.device.type == "cpu":  # fused; it is what scaled_dot_product_attention comes to here, and tells both
        if mask is not None:
            mask = mask.expand(-1, -1, query.shape[2], -1)
        fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        found, divided_by = fused(query, key, value, attn_mask=mask, scale=scale)
        return found, divided_by
    scores = (query @ key.transpose(-1, -2)).float() * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores + mask
    return scores.softmax(-1).to(value.dtype) @ value, scores.logsumexp(-1)
