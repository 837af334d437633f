"""Few-shot prompts sampled from texts, and the texts that a model generates for them."""

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
    shots: int = SHOTS,
) -> pd.DataFrame:
    """Build `count` prompts of `shots` distinct samples from the rows `pool`, classes in turn.

    With `examples` False a prompt shows no sample and is the request alone.

    If the form describes the texts and no class is requested, a sample's label is its topic. A prompt then names the
    topic of the first sampled text, and takes the others from the pool's samples of that topic while there are any. So
    topics are requested in proportion to their share of the pool.

    Returns:
        Columns `prompt_id`, `prompt`, `label`.

    Raises:
        ValueError: fewer samples than a prompt shows.
    """
    if len(pool) < shots:
        raise InputError(
            f"{len(pool)} samples to draw prompts from, {shots} are shown in each: add public text",
            code="too-few-samples-to-show",
        )
    texts, topics = samples["text"].to_numpy(), _topics(samples, classes, form)
    rows = []
    for k in range(count):
        label = classes[k % len(classes)]
        alike = None if topics is None else _of_one_topic(topics, pool, rng)
        shown = rng.choice(pool, size=shots, replace=False) if alike is None else alike[:shots]
        topic = None if topics is None else topics[shown[0]]
        rows.append((k, form.request([texts[i] for i in shown] if examples else [], label, topic), label))
    return pd.DataFrame(rows, columns=["prompt_id", "prompt", "label"])


def _topics(samples: pd.DataFrame, classes: Sequence[str | None], form: PromptForm) -> np.ndarray | None:
    """Return every sample's topic; None where prompts name none."""
    if form.description is None or any(classes):
        return None
    topics = nullable(samples["label"])
    return None if None in topics else np.array(topics, dtype=object)


def _of_one_topic(
    topics: np.ndarray, pool: Int[np.ndarray, " pool"], rng: np.random.Generator
) -> Int[np.ndarray, " shown"]:
    """Return the pool's rows at random, those of the first one's topic before the others."""
    shuffled = rng.permutation(pool)
    other = topics[shuffled] != topics[shuffled[0]]
    return shuffled[np.argsort(other, kind="stable")]


def prompts_by_class(
    samples: pd.DataFrame,
    spare: pd.DataFrame | None,
    *,
    count: int,
    classes: Sequence[str | None],
    form: PromptForm,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Build `count` prompts, classes in turn, each of `SHOTS` distinct texts among the `samples` of its own class.

    A class with fewer distinct texts than a prompt shows takes the missing ones from `spare`. If `spare` is None, its
    prompts show no example, since texts without a class would be taken for examples of this one.

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
    """Return the distinct texts that a class's prompts may show: its own, and the missing ones from `spare`."""
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
    """Build `count` prompts of one class that show some of the `texts`; the request alone where there is none."""
    if texts.empty:
        asked = [form.request((), label)] * count
        return pd.DataFrame({"prompt_id": np.arange(count), "prompt": asked, "label": label})
    unlabelled = texts.assign(label=None)  # a class is no topic
    return draw_prompts(unlabelled, np.arange(len(unlabelled)), count=count, classes=[label], form=form, rng=rng)


def first_nonempty(texts: pd.DataFrame, count: int) -> Int[np.ndarray, " kept"]:
    """Return ascending rows of `count` non-empty texts: the first of every class, then the second of each."""
    written = np.flatnonzero((texts["text"] != "").to_numpy())
    turn = texts["label"].iloc[written].groupby(texts["label"].iloc[written], dropna=False).cumcount()
    return np.sort(written[np.argsort(turn.to_numpy(), kind="stable")][:count])


def validate_generated(texts: pd.DataFrame, generator: Generator, label: str) -> None:
    """Raise ValueError if a generator was prompted for texts and none of them is usable."""
    if len(texts) and not (texts["text"] != "").any():
        raise InputError(
            f"{label}: none of the {len(texts)} responses of {generator.identity} holds a text that can be used: look "
            "at what it writes, set the sampler's legible_only=false if that drops them, or take another generator",
            code="no-usable-response",
        )


def check_text_count(kept: int, wanted: int) -> None:
    """Raise ValueError if a data set has no text left, and warn if it has fewer than are wanted."""
    if kept == 0:
        raise InputError(
            f"none of the {wanted} synthetic texts asked for is left, so no data set is written: look at what the "
            "generator writes, set the sampler's legible_only=false if that drops them, or take another generator",
            code="no-usable-text",
        )
    if kept < wanted:
        LOG.warning(
            "%s synthetic texts are left of the %s asked for: the others were empty or not usable", kept, wanted
        )


def with_openings(framing: Framing, sampler: Sampler, numbers: Sequence[int]) -> Framing:
    """Return the framing with the sampler's openings, for requests of these numbers in turn; unchanged without any."""
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
    """Generate `responses` texts a prompt, cut to one sample of at most `length` tokens; some may be empty.

    The prompts follow `form`; None: the generator's own form, or else `sampler.prompt`.

    Returns:
        Columns `prompt_id`, `response`, `text`, `label`; the responses to one prompt are successive rows.
    """
    if prompts.empty:
        return pd.DataFrame(columns=["prompt_id", "response", "text", "label"])
    form = form or prompt_form(generator.own(sampler))
    written = generator.write(
        prompts["prompt"].tolist(),
        framing=with_openings(form.framing, sampler, prompts["prompt_id"].tolist()),
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
