"""Preference pairs from scores: per prompt the best response and the one at a given rank (Algorithm 1)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.system.errors import InputError
from fedtext.voting.centring import prompt_count


def choose_pairs(
    scores: Float[np.ndarray, " candidate"],
    responses: int,
    rejected_rank: int,
    valid: Bool[np.ndarray, " candidate"] | None = None,
) -> tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]:
    """Return candidate indices of the chosen (1st) and the rejected (`rejected_rank`-th) response of each prompt.

    Responses are ranked by descending score; equal scores are ranked by index, the lower first. Everything is by index,
    so equal texts keep their own scores. A prompt with fewer valid responses than the rank rejects its lowest valid
    one; with fewer than two it gives no pair.

    Args:
        scores: One released score a candidate; candidates of one prompt are successive.
        responses: J, candidates per prompt.
        rejected_rank: 2 to J; POPri takes the 5th of 10.
        valid: False marks candidates that must not be in a pair (empty texts); their scores are ignored.

    Raises:
        ValueError: a valid candidate with a NaN or infinite score, an impossible rank, or incomplete prompts.
    """
    prompts = prompt_count(len(scores), responses)
    if not 2 <= rejected_rank <= responses:
        raise InputError(
            f"rejected_rank is {rejected_rank} of {responses} responses: choose 2 to {responses}",
            code="rejected-rank-out-of-range",
            parameter="rejected_rank",
            value=rejected_rank,
        )
    usable = np.ones(len(scores), dtype=bool) if valid is None else valid
    broken = np.flatnonzero(usable & ~np.isfinite(scores))
    if len(broken):
        raise InputError(
            f"{len(broken)} scores are NaN or infinite, first at candidate {broken[0]}: check the embeddings",
            code="scores-not-finite",
            value=len(broken),
        )
    ranked = np.argsort(-np.where(usable, scores, -np.inf).reshape(prompts, responses), axis=1, kind="stable")
    n_valid = usable.reshape(prompts, responses).sum(axis=1)
    kept = np.flatnonzero(n_valid >= 2)
    rank = np.minimum(rejected_rank, n_valid[kept]) - 1
    offset = kept * responses
    return offset + ranked[kept, 0], offset + ranked[kept, rank]
