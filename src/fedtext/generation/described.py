"""Generate public text from a one-sentence description, optionally about given topics or with given openings.

The generator is prompted with messages (`prompt_forms.Chat`), or with the kind of page where such texts are found
(`prompt_forms.Page`). Prompts contain only the description and topics that the generator itself listed.
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
from jaxtyping import Int

from fedtext.embedding.similarity import without_near_duplicates
from fedtext.generation.best_of import best_first
from fedtext.generation.cleaning import clean_samples
from fedtext.generation.few_shot import with_openings
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import ChatGenerator, Framing, TrainableGenerator
from fedtext.params.described import Texts, Topics
from fedtext.params.generation import Sampler
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder


LONGEST = 8  # words; a longer line is a text, not a topic
NUMBER = re.compile(r"^\s*(?:\d+\s*[.):]|[-*•])\s*")
WORD, LONE = re.compile(r"[^\W\d]"), re.compile(r"\w+\?")  # a question of one word asks nothing
MARKS = " \t*_#\"'“”‘’`.,;!"
ASIDE = re.compile(r"\s*(?:[:(]| [-–—] ).*$")  # what explains a topic


def topics_framing(description: str) -> Framing:
    """Return the framing of a numbered list, whose first number is already written."""
    opening = f"The {description} are about these topics:\n\n1."
    return Framing(chat=True, opening=opening, format_instruction="Answer with a numbered list, a few words a line.")


def topics_request(description: str) -> str:
    """Return the request for one list of topics."""
    return f"I collect {description}. List topics that they are about."


def named_topics(lists: Iterable[str]) -> list[str]:
    """Return the distinct topics of all lists, those in most lists first, else in the lists' order.

    Case is ignored; the first spelling is kept.
    """
    spelt: dict[str, str] = {}
    named: Counter[str] = Counter()
    for text in lists:
        topics = {topic.casefold(): topic for topic in reversed(list(_topics(text)))}
        named.update(reversed(topics))
        spelt = {**topics, **spelt}
    return [spelt[key] for key, _ in named.most_common()]


def _topics(text: str) -> Iterator[str]:
    """Yield the topics of one list in order; the last of several lines may be cut off, and is left out."""
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
    """Return at most `topics.count` topics, those in most lists first, without near-duplicates of earlier ones.

    Raises:
        ValueError: The generator lists none.
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
            "are in the plural ('questions that customers ask their bank'), or take another generator",
            code="no-topics-named",
            parameter="corpus.description",
            value=description,
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
    """Generate at most `count` texts of the described kind, topics and openings in turn, without near-duplicates.

    `texts.best_of` times as many are written, and the most plausible ones are kept
    (`fedtext.generation.best_of`). If fewer than `count` usable texts remain of `texts.oversample` times as many, the
    missing ones are generated in a second pass.

    Args:
        generator: The generator.
        encoder: Embeds texts to find near-duplicates.
        description: What the texts are, in the plural.
        topics: What they are about; None among them: no topic.
        texts: How they are generated, and the openings that they begin with.
        count: Number of texts wanted.
        seed: Seed of the sampling.

    Returns:
        Columns `text`, `topic`.

    Raises:
        ValueError: No usable text was generated.
    """
    said: list[pd.DataFrame] = []  # of each go, and its embeddings
    embedded: list[np.ndarray] = []
    best_of = _affordable_best_of(generator, texts)
    written, wanted = 0, count * texts.oversample * best_of
    for go in range(GOES):
        turns = math.ceil(wanted / (len(topics) * max(len(texts.sampler.openings), 1)))
        more = _written(generator, description, topics, texts.sampler, turns, derived_seed(seed, "texts", go))
        written += len(more)
        said.append(more[more["text"] != ""])
        embedded.append(encoder.encode(said[-1]["text"].tolist(), label="described texts"))
        usable = pd.concat(said, ignore_index=True)
        if usable.empty:
            raise InputError(
                "the generator wrote no text of the kind that corpus.description says: take another one",
                code="nothing-of-description",
            )
        order = _order(generator, usable, texts.sampler, best_of)
        kept = without_near_duplicates(np.concatenate(embedded)[order], texts.similarity)
        distinct = usable.iloc[order[kept]]
        missing = count - len(distinct)
        if missing <= 0:
            break
        wanted = min(missing * written / len(distinct), count) * texts.oversample
    _report_shortfall(written, len(usable), len(distinct), count)
    chosen: pd.DataFrame = distinct[["text", "topic"]].head(count)
    return chosen.reset_index(drop=True)


def _affordable_best_of(generator: ChatGenerator, texts: Texts) -> int:
    """Return how many texts are written for one that is kept: 1 where the generator gives no likelihoods."""
    if texts.best_of == 1 or isinstance(generator, TrainableGenerator):
        return texts.best_of
    LOG.info(
        "generator %s is a server and gives no likelihoods: described.texts.best_of %s is not used, and texts are kept "
        "as they come",
        generator.identity,
        texts.best_of,
    )
    return 1


def _order(generator: ChatGenerator, texts: pd.DataFrame, sampler: Sampler, best_of: int) -> Int[np.ndarray, " text"]:
    """Return the rows of the texts, the best first; as they come where none is written to be left out."""
    if best_of == 1 or not isinstance(generator, TrainableGenerator):
        return np.arange(len(texts))
    return best_first(generator, texts, sampler)


def _written(
    generator: ChatGenerator, description: str, topics: Sequence[str | None], sampler: Sampler, turns: int, seed: int
) -> pd.DataFrame:
    """Generate `turns` texts about each topic with each opening, these in turn; unusable ones are empty."""
    form = prompt_form(sampler.model_copy(update={"description": description}))
    openings = sampler.openings or ("",)
    asked = [topic for _ in openings for topic in topics]
    begins = [number // len(topics) for number in range(len(asked))]
    answers = generator.write(
        [form.request([], topic=topic) for topic in asked],
        framing=with_openings(form.framing, sampler, begins),
        responses=turns,
        sampler=sampler,
        seed=seed,
        label="described texts",
    )
    raw, most = [row[turn] for turn in range(turns) for row in answers], sampler.max_new_tokens
    texts = clean_samples(raw, form, generator.length_tokenizer(), most, legible_only=sampler.legible_only)
    given = pd.DataFrame({"topic": pd.Series(asked, dtype=object), "opening": [openings[begun] for begun in begins]})
    return pd.concat([given] * turns, ignore_index=True).assign(text=texts)


def _report_shortfall(written: int, usable: int, distinct: int, count: int) -> None:
    said = f"{written} public texts written, {written - usable} unusable, {usable - distinct} near-duplicates left out"
    if distinct < count:
        LOG.warning(
            "%s: the run goes on with %s public texts in place of corpus.public_texts %s; describe texts that differ "
            "more, give more corpus.openings, or ask for fewer",
            said, distinct, count,
        )  # fmt: skip
    else:
        LOG.info("%s", said)
