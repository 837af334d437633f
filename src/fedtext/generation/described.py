"""Public text of a kind that a sentence describes, about topics or with openings where there are any.

The generator is told in messages what to write (`prompt_forms.Chat`), or on the pages where such texts are found
(`prompt_forms.Page`). Nothing but the description and the generator's own topics is in them.

What texts of a described kind are about: lists of topics from a generator, and the topics in them.
"""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fedtext.embedding.similarity import without_near_duplicates
from fedtext.generation.cleaning import clean_samples
from fedtext.generation.few_shot import begun
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import ChatGenerator, Framing
from fedtext.params.described import Texts, Topics
from fedtext.params.generation import Sampler
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder


LONGEST = 8  # words of a topic: what is longer is a text
NUMBER = re.compile(r"^\s*(?:\d+\s*[.):]|[-*•])\s*")
WORD, LONE = re.compile(r"[^\W\d]"), re.compile(r"\w+\?")  # a question of one word asks nothing
MARKS = " \t*_#\"'“”‘’`.,;!"
ASIDE = re.compile(r"\s*(?:[:(]| [-–—] ).*$")  # what explains a topic


def topics_framing(description: str) -> Framing:
    """The answer is a numbered list, whose first number we write."""
    opening = f"The {description} are about these topics:\n\n1."
    return Framing(chat=True, opening=opening, format_instruction="Answer with a numbered list, a few words a line.")


def topics_request(description: str) -> str:
    """Asks for one list."""
    return f"I collect {description}. List topics that they are about."


def named_topics(lists: Iterable[str]) -> list[str]:
    """Distinct topics of all lists, those that most lists name first, else in the lists' order.

    Letter case makes no difference; the first spelling stays.
    """
    spelt: dict[str, str] = {}
    named: Counter[str] = Counter()
    for text in lists:
        topics = {topic.casefold(): topic for topic in reversed(list(_topics(text)))}
        named.update(reversed(topics))
        spelt = {**topics, **spelt}
    return [spelt[key] for key, _ in named.most_common()]


def _topics(text: str) -> Iterator[str]:
    """The topics of one list in order; a last line among several may be cut off, and is none."""
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines[:-1] or lines:
        if line.rstrip().endswith(":"):  # what leads to a list
            continue
        topic = ASIDE.sub("", NUMBER.sub("", line).strip(MARKS)).strip(MARKS)
        if WORD.search(topic) and not LONE.fullmatch(topic) and len(topic.split()) <= LONGEST:
            yield topic


LOG = logging.getLogger(__name__)
GOES = 2  # at writing


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
    kept = without_near_duplicates(encoder.encode(named, label="topics"), topics.similarity)
    return [named[row] for row in kept[: topics.count]]


def described_texts(
    generator: ChatGenerator,
    encoder: Encoder,
    description: str,
    topics: Sequence[str | None],
    texts: Texts,
    *,
    count: int,
    seed: int,
) -> pd.DataFrame:
    """At most `count` texts of the described kind, topics and openings in turn, without empty ones and near-copies.

    Where too few of `texts.oversample` times as many are left, the missing ones are written in a second go.

    Args:
        generator: Writes them.
        encoder: Says which are near-copies.
        description: What they are, in the plural.
        topics: What they are about; None among them: nothing is said.
        texts: How they are written, and the openings that they begin with.
        count: How many are wanted.
        seed: Of the draws.

    Returns:
        Columns `text`, `topic`.

    Raises:
        ValueError: None of what the generator wrote can be used.
    """
    said: list[pd.DataFrame] = []  # of each go, and its embeddings
    embedded: list[np.ndarray] = []
    written, wanted = 0, count * texts.oversample
    for go in range(GOES):
        turns = math.ceil(wanted / (len(topics) * max(len(texts.sampler.openings), 1)))
        more = _written(generator, description, topics, texts.sampler, turns, derived_seed(seed, "texts", go))
        written += len(more)
        said.append(more[more["text"] != ""])
        embedded.append(encoder.encode(said[-1]["text"].tolist(), label="described texts"))
        usable = pd.concat(said, ignore_index=True)
        if usable.empty:
            raise InputError("the generator wrote no text of the kind that corpus.description says: take another one")
        distinct = usable.iloc[without_near_duplicates(np.concatenate(embedded), texts.similarity)]
        missing = count - len(distinct)
        if missing <= 0:
            break
        wanted = min(missing * written / len(distinct), count) * texts.oversample
    _tell(written, len(usable), len(distinct), count)
    return distinct[:count].reset_index(drop=True)


def _written(
    generator: ChatGenerator, description: str, topics: Sequence[str | None], sampler: Sampler, turns: int, seed: int
) -> pd.DataFrame:
    """`turns` texts about each topic with each opening, these in turn; one that is none is empty."""
    form = prompt_form(sampler.model_copy(update={"description": description}))
    asked = [topic for _ in sampler.openings or ("",) for topic in topics]
    begins = [number // len(topics) for number in range(len(asked))]
    answers = generator.write(
        [form.request([], topic=topic) for topic in asked],
        framing=begun(form.framing, sampler, begins),
        responses=turns,
        sampler=sampler,
        seed=seed,
        label="described texts",
    )
    raw, most = [row[turn] for turn in range(turns) for row in answers], sampler.max_new_tokens
    texts = clean_samples(raw, form, generator.length_tokenizer(), most, legible_only=sampler.legible_only)
    return pd.DataFrame({"text": texts, "topic": pd.Series(asked * turns, dtype=object)})


def _tell(written: int, usable: int, distinct: int, count: int) -> None:
    said = f"{written} public texts written, {written - usable} unusable, {usable - distinct} near-copies left out"
    if distinct < count:
        LOG.warning("%s: %s are fewer than corpus.public_texts %s", said, distinct, count)
    else:
        LOG.info("%s", said)
