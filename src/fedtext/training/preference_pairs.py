"""Preference pairs before training: validation, removal of equal texts, and tokenisation.

A pair becomes token ids for DPO, or two rows of tokens, which DP-SGD is trained on and whose log-probabilities are
computed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Int32

from fedtext.generation.control_codes import coded_rows
from fedtext.generation.dialogue import Dialogue, answer_prompts
from fedtext.models.generator import TrainableGenerator
from fedtext.models.language_model import context_length
from fedtext.params.training import PairTokens
from fedtext.system.errors import InputError
from fedtext.training.client_gradients import as_unscored, logits_of
from fedtext.training.dp_losses import answer_log_probs
from fedtext.training.local_steps import NO_TOKEN

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class TokenisedPair(TypedDict):
    """Token ids of one pair; the prompt followed by either completion is the text that the model would read."""

    prompt_ids: list[int]
    chosen_ids: list[int]
    rejected_ids: list[int]


def distinct_pairs(pairs: pd.DataFrame, label: str) -> pd.DataFrame:
    """Return the pairs whose texts differ, and log how many do not; raise ValueError if `pairs` is invalid."""
    for column in ("prompt", "chosen", "rejected"):
        if column not in pairs:
            raise InputError(
                f"{label}: no column {column!r}; pairs need prompt, chosen and rejected",
                code="missing-pair-column",
                value=column,
            )
        bad = [i for i, text in enumerate(pairs[column]) if not isinstance(text, str) or not text.strip()]
        if bad:
            raise InputError(
                f"{label}: {column} is empty or not text in {len(bad)} of {len(pairs)} pairs (first: row {bad[0]}); "
                "leave such responses out before pairs are chosen",
                code="pair-without-text",
                value=column,
            )
    kept = pairs[pairs["chosen"].str.strip() != pairs["rejected"].str.strip()]
    if kept.empty:
        what = "there are no pairs" if pairs.empty else f"chosen equals rejected in all {len(pairs)} pairs"
        raise InputError(
            f"{label}: {what}; raise prompts or responses, or the sampling temperature", code="no-pairs-left"
        )
    if len(kept) < len(pairs):
        dropped = len(pairs) - len(kept)
        logging.getLogger(__name__).info("%s: chosen equals rejected in %d of %d pairs", label, dropped, len(pairs))
    return kept


def completion(text: str, end: str = "\n", lead: str = "") -> str:
    """Return a response as a model is trained on it: stripped, after its `lead`, and followed by its `end`."""
    return f"{lead}{text.strip()}{end}"


def tokenised(
    pairs: pd.DataFrame, tokenizer: PreTrainedTokenizerBase, end: str = "\n", lead: str = ""
) -> list[TokenisedPair]:
    """Tokenise every pair.

    Prompt and completion are tokenised together, as the model would read them, and split where either joint form stops
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


def validate_lengths(rows: Sequence[TokenisedPair], model: PreTrainedModel, label: str) -> None:
    """Raise ValueError if a prompt with its response has more tokens than `model` has positions."""
    longest = max(len(r["prompt_ids"]) + max(len(r["chosen_ids"]), len(r["rejected_ids"])) for r in rows)
    limit = context_length(model)
    if limit is not None and longest > limit:
        raise InputError(
            f"{label}: the longest prompt with its response has {longest} tokens, the model takes {limit}: "
            "lower chunking.length or sampler.max_new_tokens, or choose a model with a longer context",
            code="pair-too-long",
        )


AT_ONCE = 8  # pairs per batch of log-probabilities


def pair_rows(
    generator: TrainableGenerator, pairs: pd.DataFrame, tokens: PairTokens, form: Dialogue
) -> Int32[np.ndarray, "pair position"]:
    """Return two successive rows of tokens per pair: prompt and chosen answer, then prompt and rejected answer.

    A prompt's last tokens are shown and not scored, after the token that starts a text where there is one. An answer's
    first tokens and the token that ends it are scored. A pair's rows depend on that pair alone.
    """
    tokenizer = generator.load()[1]
    begun = answer_prompts(generator, form, pairs["prompt"])
    width = row_width(tokenizer, tokens)
    rows = np.full((len(pairs), 2, width), NO_TOKEN, dtype=np.int32)
    for side, name in enumerate(("chosen", "rejected")):
        answers = [completion(answer, "", form.framing.lead) for answer in pairs[name]]
        shown, scored = coded_rows(tokenizer, begun, answers, tokens.answer)
        for row, before, answer in zip(rows[:, side], shown, scored, strict=True):
            kept = _last(before, tokens.prompt, tokenizer)
            row[: len(kept)] = as_unscored(kept)
            row[len(kept) : len(kept) + len(answer)] = answer
    return rows.reshape(len(pairs), 2 * width)


def pair_log_probs(
    generator: TrainableGenerator, rows: Int[np.ndarray, "pair position"]
) -> Float[np.ndarray, "pair side"]:
    """Compute the log-probability in nats of each pair's chosen (0) and rejected answer (1), given its prompt."""
    import torch

    model = generator.load()[0].float().eval()
    found = np.zeros((len(rows), 2))
    with torch.inference_mode():
        for first in range(0, len(rows), AT_ONCE):
            part = rows[first : first + AT_ONCE]
            ids = torch.from_numpy(part.reshape(2 * len(part), -1).astype(np.int64)).to(model.device)
            told = answer_log_probs(logits_of(model, {}, ids), ids)
            found[first : first + AT_ONCE] = told.view(-1, 2).cpu().numpy()
    return found


def row_width(tokenizer: PreTrainedTokenizerBase, tokens: PairTokens) -> int:
    """Return the largest number of tokens per row, which is public."""
    return tokens.prompt + tokens.answer + (tokenizer.eos_token_id is not None)


def validate_pair_width(generator: TrainableGenerator, tokens: PairTokens, where: str) -> None:
    """Raise ValueError, before any pair is read, if a prompt and its answer may be longer than the generator reads."""
    model, tokenizer = generator.load()
    width, limit = row_width(tokenizer, tokens), context_length(model)
    if limit is not None and width > limit:
        raise InputError(
            f"{where}: a prompt and its answer have up to {width} tokens, the generator reads {limit} at once: lower "
            f"{where}.prompt or {where}.answer",
            code="prompt-and-answer-too-long",
            parameter=where,
        )


def _last(tokens: Int[np.ndarray, " token"], most: int, tokenizer: PreTrainedTokenizerBase) -> Int[np.ndarray, " kept"]:
    """Return the last `most` tokens; a text that is cut keeps the token that starts one."""
    if len(tokens) <= most:
        return tokens
    starts = tokens[:1] if tokens[0] == tokenizer.bos_token_id else tokens[:0]
    return np.concatenate([starts, tokens[len(tokens) - most + len(starts) :]])
