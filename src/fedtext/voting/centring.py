"""Centring of candidate scores, done on the embeddings: subtracting a mean score is subtracting a mean embedding.

A client's scores are `E @ m`, so the mean score of a group of candidates is `mean(E) @ m`: centring the rows of `E`
once centres the scores of every client, and the Gram form (fedtext.voting.ballots) stays exact. Centring removes the
part of a score that all candidates, or all responses to one prompt, share. That part does not tell responses apart, yet
it would fill most of the clip norm.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Float64

from fedtext.system.errors import InputError

Centre = Literal["none", "all", "prompt"]


def centred(
    candidates: Float[np.ndarray, "candidate dim"], centre: Centre = "none", responses_per_prompt: int | None = None
) -> Float64[np.ndarray, "candidate dim"]:
    """Subtract from candidate embeddings the mean of all of them, or of the responses to the same prompt.

    Responses to one prompt are `responses_per_prompt` successive rows. The result is always a float64 copy.

    Raises:
        ValueError: unknown `centre`, embeddings that are not finite, or rows that do not divide into prompts.
    """
    rows = np.array(candidates, dtype=np.float64)
    require_finite("candidates", rows)
    if centre == "none" or not len(rows):
        return rows
    if centre == "all":
        rows -= rows.mean(axis=0)
    elif centre == "prompt":
        prompts = rows.reshape(prompt_count(len(rows), responses_per_prompt), -1, rows.shape[1])
        prompts -= prompts.mean(axis=1, keepdims=True)
    else:
        raise InputError(
            f"centre is {centre!r}: choose 'none', 'all' or 'prompt'",
            code="unknown-centring",
            parameter="centre",
            value=centre,
        )
    return rows


def prompt_count(candidates: int, responses_per_prompt: int | None) -> int:
    """Return how many prompts `candidates` rows belong to.

    Raises:
        ValueError: the rows do not divide into prompts of `responses_per_prompt` each.
    """
    if responses_per_prompt is None or responses_per_prompt < 1:
        raise InputError(
            f"responses_per_prompt is {responses_per_prompt}: state how many candidates share a prompt",
            code="responses-not-stated",
            parameter="responses_per_prompt",
            value=responses_per_prompt,
        )
    if candidates % responses_per_prompt:
        raise InputError(
            f"{candidates} candidates do not divide into prompts of {responses_per_prompt}: pass every response of "
            "every prompt, empty ones included",
            code="incomplete-prompts",
            parameter="responses_per_prompt",
            value=responses_per_prompt,
        )
    return candidates // responses_per_prompt


def require_finite(name: str, rows: np.ndarray) -> None:
    """Raise a ValueError that names the first row of `rows` with a NaN or an infinity."""
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=tuple(range(1, rows.ndim))))
    if len(bad):
        raise InputError(
            f"{name} holds NaN or infinite values in {len(bad)} rows, first row {bad[0]}: check the encoder",
            code="embeddings-not-finite",
            parameter=name,
        )
