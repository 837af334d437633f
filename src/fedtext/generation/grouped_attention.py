"""Attention of many branches over keys that several query heads share, without copying the keys for every head.

Where query heads share a key head (Llama 3, Qwen, SmolLM2), transformers repeats keys and values for each of them as
soon as there is a mask and more than one query a row: at every step, in every layer, the whole cache. Queries that
read the same keys can as well stand side by side: a group's heads become rows of one head. The products are the same,
and so are their bits on a CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor
    from transformers import PreTrainedModel

NAME, PLAIN = "fedtext_grouped", "sdpa"  # in transformers' register of attention functions
NOT_HERE = ("dropout", "softcap", "position_bias")  # options that only transformers' own function knows


@contextmanager
def grouped_attention(model: PreTrainedModel) -> Iterator[None]:
    """`model` attends group by group in this context; one whose heads share no keys stays as it is."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    config = model.config.get_text_config()
    heads = config.num_attention_heads
    if model.config._attn_implementation != PLAIN or getattr(config, "num_key_value_heads", heads) in (None, heads):
        yield
        return
    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(PLAIN)


def _attention(
    module: Any,
    query: Float[Tensor, "row head place size"],
    key: Float[Tensor, "row kept seen size"],
    value: Float[Tensor, "row kept seen size"],
    attention_mask: Float[Tensor, "row 1 place seen"] | None,
    **options: Any,
) -> tuple[Float[Tensor, "row place head size"], None]:
    """As transformers does it where nothing is shared or the prompt is read, else one head a group."""
    from torch.nn.functional import scaled_dot_product_attention
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    rows, heads, places, size = query.shape
    shared = heads // key.shape[1]
    reads_prompt, told_more = places == key.shape[2], any(_is_given(options.get(name)) for name in NOT_HERE)
    if shared == 1 or reads_prompt or told_more or attention_mask is None:
        plain: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return plain
    grouped = query.reshape(rows, heads // shared, shared * places, size)
    mask = attention_mask.repeat(1, 1, shared, 1)
    found = scaled_dot_product_attention(grouped, key, value, attn_mask=mask, scale=options.get("scaling"))
    return found.reshape(rows, heads, places, -1).transpose(1, 2).contiguous(), None


def _is_given(option: Any) -> bool:
    return option is not None and not (isinstance(option, float) and option == 0)
