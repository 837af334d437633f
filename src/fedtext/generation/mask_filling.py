"""Variations of texts by mask filling: a masked language model replaces some of the tokens.

Every text has its own random stream from the seed and its own number of masks, so a variation does not depend on the
batch composition (up to the rounding of a matrix product). A special token is never generated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedtext.generation.cleaning import UNPRINTABLE
from fedtext.generation.token_sampling import draw_tokens
from fedtext.models.language_model import context_length
from fedtext.params.generation import MaskFilling
from fedtext.seeding import stream
from fedtext.system.errors import InputError
from fedtext.system.progress import progress

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def fill_masks(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    params: MaskFilling,
    *,
    length: int,
    seed: int,
    label: str = "mask filling",
) -> list[str]:
    """Return a variation of every text: the share `params.share` of its tokens is replaced in each of `params.passes`.

    At least one token is replaced. A text is cut to `length` of this model's tokens. One without any token stays empty.

    Raises:
        ValueError: `length` exceeds the model's context.
    """
    _validate_length(model, tokenizer, length)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    batches = [order[first : first + params.batch_size] for first in range(0, len(order), params.batch_size)]
    filled = [""] * len(texts)
    for batch in progress(batches, label, unit="batch"):
        draws = [stream(seed, "masks", i) for i in batch]
        written = _filled(model, tokenizer, [texts[i] for i in batch], params, length, draws)
        for i, text in zip(batch, written, strict=True):
            filled[i] = text
    return filled


def _validate_length(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, length: int) -> None:
    around = tokenizer.num_special_tokens_to_add()
    limit = min(tokenizer.model_max_length, context_length(model) or tokenizer.model_max_length)
    if length + around > limit:
        raise InputError(
            f"mask filling: texts of chunking.length {length} and {around} special tokens, where the masked language "
            f"model reads {limit} at once: lower chunking.length or choose another models.masked",
            code="masked-model-reads-less",
            parameter="chunking.length",
            value=length,
        )


def _filled(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: list[str],
    params: MaskFilling,
    length: int,
    draws: list[np.random.Generator],
) -> list[str]:
    """Vary one batch, each text with its own random stream."""
    import torch

    coded = tokenizer(
        texts,
        truncation=True,
        max_length=length + tokenizer.num_special_tokens_to_add(),
        padding=True,
        padding_side="right",
        return_special_tokens_mask=True,
        return_tensors="pt",
    ).to(model.device)
    ids, real = coded["input_ids"], coded["attention_mask"]
    places = [np.flatnonzero(own) for own in ((coded["special_tokens_mask"] == 0) & (real == 1)).cpu().numpy()]
    special = torch.tensor(tokenizer.all_special_ids, device=model.device)
    with torch.inference_mode():
        for _ in range(params.passes):
            chosen = [_to_mask(own, params.share, draw) for own, draw in zip(places, draws, strict=True)]
            _fill_one_pass(model, ids, real, chosen, draws, tokenizer.mask_token_id, special, params)
    written = tokenizer.batch_decode(ids, skip_special_tokens=True)
    return [UNPRINTABLE.sub("", text).strip() for text in written]


def _to_mask(places: np.ndarray, share: float, draw: np.random.Generator) -> np.ndarray:
    """Choose the positions of a text to mask, in the order in which they are filled."""
    count = min(len(places), max(1, int(share * len(places))))
    return np.asarray(draw.permutation(places)[:count])


def _fill_one_pass(
    model: PreTrainedModel,
    ids: Tensor,
    real: Tensor,
    chosen: list[np.ndarray],
    draws: list[np.random.Generator],
    mask: int,
    special: Tensor,
    params: MaskFilling,
) -> None:
    """Mask the chosen positions of `ids`, then fill them in place, one of every text in a forward step."""
    import torch

    for row, places in enumerate(chosen):
        ids[row, torch.from_numpy(places).to(ids.device)] = mask
    for step in range(max(map(len, chosen), default=0)):
        rows = [row for row, places in enumerate(chosen) if step < len(places)]
        at = torch.tensor([chosen[row][step] for row in rows], device=ids.device)
        own = torch.tensor(rows, device=ids.device)
        logits = model(input_ids=ids[own], attention_mask=real[own]).logits[torch.arange(len(rows)), at]
        logits = logits.float().index_fill(-1, special, -torch.inf)
        uniforms = torch.tensor([draws[row].random() for row in rows], dtype=torch.float32, device=ids.device)
        ids[own, at] = draw_tokens(logits, uniforms, temperature=params.temperature, top_p=params.top_p)
