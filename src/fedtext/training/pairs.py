"""Preference pairs before they reach a trainer: what is refused, what is dropped, and how they become tokens."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from fedtext.models.language_model import context_length
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class TokenisedPair(TypedDict):
    """Token ids of one pair; prompt followed by either completion is the text the model would have met."""

    prompt_ids: list[int]
    chosen_ids: list[int]
    rejected_ids: list[int]


def distinct_pairs(pairs: pd.DataFrame, label: str) -> pd.DataFrame:
    """The pairs whose texts differ; how many do not is logged. `ValueError` says what is wrong with `pairs`."""
    for column in ("prompt", "chosen", "rejected"):
        if column not in pairs:
            raise InputError(f"{label}: no column {column!r}; pairs need prompt, chosen and rejected")
        bad = [i for i, text in enumerate(pairs[column]) if not isinstance(text, str) or not text.strip()]
        if bad:
            raise InputError(
                f"{label}: {column} is empty or not text in {len(bad)} of {len(pairs)} pairs (first: row {bad[0]}); "
                "leave such responses out before pairs are chosen"
            )
    kept = pairs[pairs["chosen"].str.strip() != pairs["rejected"].str.strip()]
    if kept.empty:
        what = "there are no pairs" if pairs.empty else f"chosen equals rejected in all {len(pairs)} pairs"
        raise InputError(f"{label}: {what}; raise prompts or responses, or the sampling temperature")
    if len(kept) < len(pairs):
        dropped = len(pairs) - len(kept)
        logging.getLogger(__name__).info("%s: chosen equals rejected in %d of %d pairs", label, dropped, len(pairs))
    return kept


def completion(text: str, end: str = "\n", lead: str = "") -> str:
    """A response as a model is trained on it: stripped, behind its `lead`, and with its `end`, which is learned too."""
    return f"{lead}{text.strip()}{end}"


def tokenised(
    pairs: pd.DataFrame, tokenizer: PreTrainedTokenizerBase, end: str = "\n", lead: str = ""
) -> list[TokenisedPair]:
    """Token ids of every pair.

    Prompt and completion are tokenised together, as the model would meet them, and split where both joint forms stop
    agreeing with the prompt alone (TRL's rule).
    """
    from trl.data_utils import common_prefix_length

    prompts = tokenizer(list(pairs["prompt"]))["input_ids"]
    chosen, rejected = (
        tokenizer([p + completion(text, end, lead) for p, text in zip(pairs["prompt"], pairs[side], strict=True)])[
            "input_ids"
        ]
        for side in ("chosen", "rejected")
    )
    rows: list[TokenisedPair] = []
    for prompt, better, worse in zip(prompts, chosen, rejected, strict=True):
        cut = min(common_prefix_length(prompt, better), common_prefix_length(prompt, worse))
        rows.append({"prompt_ids": prompt[:cut], "chosen_ids": better[cut:], "rejected_ids": worse[cut:]})
    return rows


def refuse_long(rows: Sequence[TokenisedPair], model: PreTrainedModel, label: str) -> None:
    """`ValueError` when a prompt with its response has more tokens than `model` has positions."""
    longest = max(len(r["prompt_ids"]) + max(len(r["chosen_ids"]), len(r["rejected_ids"])) for r in rows)
    limit = context_length(model)
    if limit is not None and longest > limit:
        raise InputError(
            f"{label}: the longest prompt with its response has {longest} tokens, the model takes {limit}: "
            "lower chunking.length or sampler.max_new_tokens, or choose a model with a longer context"
        )
