"""Few-shot prompts drawn from samples, and the texts that a model writes for them: one table each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Int

from fedtext.generation.cleaning import clean_samples
from fedtext.generation.prompts import SAMPLE_MARKER, SHOTS, few_shot_prompt
from fedtext.generation.sampling import sample_responses
from fedtext.params.generation import Sampler

if TYPE_CHECKING:
    from fedtext.models.language_model import LanguageModel


def draw_prompts(
    samples: pd.DataFrame,
    pool: Int[np.ndarray, " pool"],
    *,
    count: int,
    classes: Sequence[str | None],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """`count` prompts of `SHOTS` distinct samples drawn from the rows `pool`, classes in turn.

    Returns:
        Columns `prompt_id`, `prompt`, `label`.

    Raises:
        ValueError: fewer samples than a prompt shows.
    """
    if len(pool) < SHOTS:
        raise ValueError(f"{len(pool)} samples to draw prompts from, {SHOTS} are shown in each: add public text")
    texts = samples["text"].to_numpy()
    rows = []
    for k in range(count):
        label = classes[k % len(classes)]
        shown = rng.choice(pool, size=SHOTS, replace=False)
        rows.append((k, few_shot_prompt([texts[i] for i in shown], label), label))
    return pd.DataFrame(rows, columns=["prompt_id", "prompt", "label"])


def prompts_by_class(
    samples: pd.DataFrame,
    spare: pd.DataFrame,
    *,
    count: int,
    classes: Sequence[str | None],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """`count` prompts, classes in turn, each of `SHOTS` distinct texts among the `samples` of its own class.

    A class with fewer distinct texts than a prompt shows borrows the missing ones from `spare`.

    Returns:
        Columns `prompt_id`, `prompt`, `label`.
    """
    drawn = []
    for c, label in enumerate(classes):
        own = samples if label is None else samples[samples["label"] == label]
        texts = own[["text"]].drop_duplicates()
        if (missing := SHOTS - len(texts)) > 0:
            others = spare.loc[~spare["text"].isin(texts["text"]), ["text"]].drop_duplicates()
            texts = pd.concat([texts, others.iloc[rng.permutation(len(others))[:missing]]])
        share = count // len(classes) + (c < count % len(classes))
        prompts = draw_prompts(texts, np.arange(len(texts)), count=share, classes=[label], rng=rng)
        drawn.append(prompts.assign(prompt_id=c + len(classes) * np.arange(share)))
    return pd.concat(drawn).sort_values("prompt_id", ignore_index=True)


def first_written(texts: pd.DataFrame, count: int) -> Int[np.ndarray, " kept"]:
    """Rows of the first `count` texts that are not empty."""
    return np.flatnonzero((texts["text"] != "").to_numpy())[:count]


def sampled_texts(
    generator: LanguageModel,
    prompts: pd.DataFrame,
    *,
    responses: int,
    sampler: Sampler,
    length: int,
    seed: int,
    label: str,
) -> pd.DataFrame:
    """`responses` texts a prompt, cut at the next sample's heading and to `length` tokens; some may be empty.

    Returns:
        Columns `prompt_id`, `response`, `text`, `label`; the responses to one prompt are successive rows.
    """
    if prompts.empty:
        return pd.DataFrame(columns=["prompt_id", "response", "text", "label"])
    model, tokenizer = generator.load()
    continuations = sample_responses(
        model,
        tokenizer,
        prompts["prompt"].tolist(),
        responses=responses,
        sampler=sampler,
        seed=seed,
        stop=SAMPLE_MARKER,
        label=label,
    )
    rows = prompts.loc[prompts.index.repeat(responses)]
    return pd.DataFrame(
        {
            "prompt_id": rows["prompt_id"].to_numpy(),
            "response": np.tile(np.arange(responses), len(prompts)),
            "text": clean_samples([text for row in continuations for text in row], tokenizer, length),
            "label": rows["label"].to_numpy(),
        }
    )
