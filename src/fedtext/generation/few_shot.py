"""Few-shot prompts drawn from samples, and the texts that a model writes for them: one table each."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from jaxtyping import Int

from fedtext.generation.cleaning import clean_samples
from fedtext.generation.prompt_forms import SHOTS, PromptForm, prompt_form
from fedtext.models.generator import Framing, Generator
from fedtext.params.generation import Sampler
from fedtext.system.errors import InputError
from fedtext.system.missing import nullable

LOG = logging.getLogger(__name__)


def draw_prompts(
    samples: pd.DataFrame,
    pool: Int[np.ndarray, " pool"],
    *,
    count: int,
    classes: Sequence[str | None],
    form: PromptForm,
    rng: np.random.Generator,
    examples: bool = True,
) -> pd.DataFrame:
    """`count` prompts of `SHOTS` distinct samples drawn from the rows `pool`, classes in turn.

    Without `examples` a prompt shows none of them, and asks alone.

    Where the form describes the texts and no class is asked for, a sample's label is its topic. A prompt then names the
    topic of the first sample that it draws, and draws the others among the pool's samples of that topic while there are
    any. So topics are asked for in proportion to their share of the pool.

    Returns:
        Columns `prompt_id`, `prompt`, `label`.

    Raises:
        ValueError: fewer samples than a prompt shows.
    """
    if len(pool) < SHOTS:
        raise InputError(f"{len(pool)} samples to draw prompts from, {SHOTS} are shown in each: add public text")
    texts, topics = samples["text"].to_numpy(), _topics(samples, classes, form)
    rows = []
    for k in range(count):
        label = classes[k % len(classes)]
        shown = _of_one_topic(topics, pool, rng) if topics is not None else rng.choice(pool, size=SHOTS, replace=False)
        topic = None if topics is None else topics[shown[0]]
        rows.append((k, form.request([texts[i] for i in shown] if examples else [], label, topic), label))
    return pd.DataFrame(rows, columns=["prompt_id", "prompt", "label"])


def _topics(samples: pd.DataFrame, classes: Sequence[str | None], form: PromptForm) -> np.ndarray | None:
    """Every sample's topic, None where prompts name none."""
    if form.description is None or any(classes):
        return None
    topics = nullable(samples["label"])
    return None if None in topics else np.array(topics, dtype=object)


def _of_one_topic(
    topics: np.ndarray, pool: Int[np.ndarray, " pool"], rng: np.random.Generator
) -> Int[np.ndarray, " shown"]:
    """`SHOTS` rows of the pool: one at random, then others of its topic, then any."""
    shuffled = rng.permutation(pool)
    other = topics[shuffled] != topics[shuffled[0]]
    return shuffled[np.argsort(other, kind="stable")][:SHOTS]


def prompts_by_class(
    samples: pd.DataFrame,
    spare: pd.DataFrame | None,
    *,
    count: int,
    classes: Sequence[str | None],
    form: PromptForm,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """`count` prompts, classes in turn, each of `SHOTS` distinct texts among the `samples` of its own class.

    A class with fewer distinct texts than a prompt shows borrows the missing ones from `spare`. Where `spare` is None,
    its prompts show nothing: texts of no class would be taken for examples of this one.

    Returns:
        Columns `prompt_id`, `prompt`, `label`.
    """
    drawn = []
    for c, label in enumerate(classes):
        own = samples if label is None else samples[samples["label"] == label]
        texts = _enough(own[["text"]].drop_duplicates(), spare, rng)
        share = count // len(classes) + (c < count % len(classes))
        prompts = _prompts_of(texts, label, share, form, rng)
        drawn.append(prompts.assign(prompt_id=c + len(classes) * np.arange(share)))
    return pd.concat(drawn).sort_values("prompt_id", ignore_index=True)


def _enough(own: pd.DataFrame, spare: pd.DataFrame | None, rng: np.random.Generator) -> pd.DataFrame:
    """The distinct texts of a class that its prompts may show: its own, and the missing ones of `spare`."""
    missing = SHOTS - len(own)
    if missing <= 0:
        return own
    if spare is None:
        return own[:0]
    others = spare.loc[~spare["text"].isin(own["text"]), ["text"]].drop_duplicates()
    return pd.concat([own, others.iloc[rng.permutation(len(others))[:missing]]])


def _prompts_of(
    texts: pd.DataFrame, label: str | None, count: int, form: PromptForm, rng: np.random.Generator
) -> pd.DataFrame:
    """`count` prompts of one class that show some of the `texts`; the request alone where there is none."""
    if texts.empty:
        asked = [form.request((), label)] * count
        return pd.DataFrame({"prompt_id": np.arange(count), "prompt": asked, "label": label})
    untold = texts.assign(label=None)  # a class is no topic
    return draw_prompts(untold, np.arange(len(untold)), count=count, classes=[label], form=form, rng=rng)


def first_written(texts: pd.DataFrame, count: int) -> Int[np.ndarray, " kept"]:
    """Ascending rows of `count` texts that are not empty: the first of every class, then the second of each."""
    written = np.flatnonzero((texts["text"] != "").to_numpy())
    turn = texts["label"].iloc[written].groupby(texts["label"].iloc[written], dropna=False).cumcount()
    return np.sort(written[np.argsort(turn.to_numpy(), kind="stable")][:count])


def validate_written(texts: pd.DataFrame, generator: Generator, label: str) -> None:
    """Raises ValueError where a generator was asked for texts and none of them can be used."""
    if len(texts) and not (texts["text"] != "").any():
        raise InputError(
            f"{label}: none of the {len(texts)} responses of {generator.identity} holds a text that can be used: look "
            "at what it writes, set the sampler's legible_only=false if that drops them, or take another generator"
        )


def refuse_none(kept: int, wanted: int) -> None:
    """Raises ValueError where no text of a data set is left, and warns where they are fewer than are wanted."""
    if kept == 0:
        raise InputError(
            f"none of the {wanted} synthetic texts asked for is left, so no data set is written: look at what the "
            "generator writes, set the sampler's legible_only=false if that drops them, or take another generator"
        )
    if kept < wanted:
        LOG.warning(
            "%s synthetic texts are left of the %s asked for: the others were empty or not usable", kept, wanted
        )


def begun(framing: Framing, sampler: Sampler, numbers: Sequence[int]) -> Framing:
    """With the sampler's openings, for requests of these numbers in turn; as it is where there are none."""
    words = sampler.openings
    return replace(framing, begun=tuple(words[number % len(words)] for number in numbers)) if words else framing


def sampled_texts(
    generator: Generator,
    prompts: pd.DataFrame,
    *,
    responses: int,
    sampler: Sampler,
    length: int,
    seed: int,
    label: str,
    form: PromptForm | None = None,
) -> pd.DataFrame:
    """`responses` texts a prompt, cut back to one sample of at most `length` tokens; some may be empty.

    The prompts are those of `form`; None: of the generator's own form, or else of `sampler.prompt`.

    Returns:
        Columns `prompt_id`, `response`, `text`, `label`; the responses to one prompt are successive rows.
    """
    if prompts.empty:
        return pd.DataFrame(columns=["prompt_id", "response", "text", "label"])
    form = form or prompt_form(generator.own(sampler))
    written = generator.write(
        prompts["prompt"].tolist(),
        framing=begun(form.framing, sampler, prompts["prompt_id"].tolist()),
        responses=responses,
        sampler=sampler,
        seed=seed,
        label=label,
    )
    raw = [text for row in written for text in row]
    texts = clean_samples(raw, form, generator.length_tokenizer(), length, legible_only=sampler.legible_only)
    rows = prompts.loc[prompts.index.repeat(responses)]
    return pd.DataFrame(
        {
            "prompt_id": rows["prompt_id"].to_numpy(),
            "response": np.tile(np.arange(responses), len(prompts)),
            "text": texts,
            "label": rows["label"].to_numpy(),
        }
    )
