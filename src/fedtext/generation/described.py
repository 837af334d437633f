"""Public text of a kind that a sentence describes: topics of it, then texts about each topic.

The generator is told in messages what to write (`prompt_forms.Chat`), or on the pages where such texts are found
(`prompt_forms.Page`). Nothing but the description and the generator's own topics is in them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fedtext.embedding.near_copies import without_near_copies
from fedtext.generation.cleaning import clean_samples
from fedtext.generation.prompt_forms import prompt_form
from fedtext.generation.topics import named_topics, topics_framing, topics_request
from fedtext.models.generator import ChatGenerator
from fedtext.params.described import Texts, Topics
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder

LOG = logging.getLogger(__name__)


def proposed_topics(
    generator: ChatGenerator, encoder: Encoder, description: str, topics: Topics, *, seed: int
) -> list[str]:
    """At most `topics.count` topics, those that most lists name first; what says what an earlier one said is left out.

    Raises:
        ValueError: The generator names none.
    """
    lists = generator.write(
        [topics_request(description)],
        framing=topics_framing(description),
        responses=topics.lists,
        sampler=topics.sampler,
        seed=derived_seed(seed, "topics"),
        label="topics",
    )[0]
    named = named_topics(lists)
    if not named:
        raise InputError(
            f"generator {generator.identity} names no topic of corpus.description '{description}': say what the texts "
            "are in the plural ('questions that customers ask their bank'), or take another generator"
        )
    kept = without_near_copies(encoder.encode(named, label="topics"), topics.similarity)
    return [named[row] for row in kept[: topics.count]]


def described_texts(
    generator: ChatGenerator,
    encoder: Encoder,
    description: str,
    topics: Sequence[str],
    texts: Texts,
    *,
    count: int,
    seed: int,
) -> pd.DataFrame:
    """At most `count` texts of the described kind, topics in turn, without empty ones and near-copies.

    Returns:
        Columns `text`, `topic`.

    Raises:
        ValueError: None of what the generator wrote can be used.
    """
    form = prompt_form(texts.sampler.model_copy(update={"description": description}))
    rounds = math.ceil(count * texts.oversample / len(topics))
    answers = generator.write(
        [form.request([], topic=topic) for topic in topics],
        framing=form.framing,
        responses=rounds,
        sampler=texts.sampler,
        seed=derived_seed(seed, "texts"),
        label="described texts",
    )
    raw = [row[turn] for turn in range(rounds) for row in answers]
    most, legible_only = texts.sampler.max_new_tokens, texts.sampler.legible_only
    cleaned = clean_samples(raw, form, generator.length_tokenizer(), most, legible_only=legible_only)
    written = pd.DataFrame({"text": cleaned, "topic": list(topics) * rounds})
    usable = written[[bool(text) for text in cleaned]]
    distinct = usable.iloc[_distinct(usable["text"].tolist(), encoder, texts.similarity)]
    _tell(len(written), len(usable), len(distinct), count)
    return distinct[:count].reset_index(drop=True)


def _distinct(texts: Sequence[str], encoder: Encoder, similarity: float) -> np.ndarray:
    if not texts:
        raise InputError("the generator wrote no text of the kind that corpus.description says: take another one")
    return without_near_copies(encoder.encode(texts, label="described texts"), similarity)


def _tell(written: int, usable: int, distinct: int, count: int) -> None:
    said = f"{written} public texts written, {written - usable} unusable, {usable - distinct} near-copies left out"
    if distinct < count:
        LOG.warning("%s: %s are fewer than corpus.public_texts %s", said, distinct, count)
    else:
        LOG.info("%s", said)
