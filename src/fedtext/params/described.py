"""Public text that the generator writes from one sentence, `corpus.description`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from fedtext.params import Parameters, Seed
from fedtext.params.generation import Sampler
from fedtext.system.errors import InputError


def _told_in_messages(sampler: Sampler) -> Sampler:
    if sampler.prompt != "chat":
        raise InputError(
            f"described.topics.sampler has prompt {sampler.prompt}: topics are asked for in messages, set chat",
            code="topics-need-messages",
            parameter="described.topics.sampler.prompt",
            value=sampler.prompt,
        )
    return sampler


def _needs_no_examples(sampler: Sampler) -> Sampler:
    if sampler.prompt in ("list", "labelled"):
        raise InputError(
            f"described.texts.sampler has prompt {sampler.prompt}: there are no examples yet, set chat or give a page",
            code="description-has-no-examples",
            parameter="described.texts.sampler.prompt",
            value=sampler.prompt,
        )
    return sampler


ChatSampler = Annotated[Sampler, AfterValidator(_told_in_messages)]


class Topics(Parameters):
    """At most `count` topics, those that most of `lists` lists name.

    A topic is dropped if its cosine similarity to an earlier one is at least `similarity`.
    """

    count: int = Field(ge=1)
    lists: int = Field(ge=1)
    similarity: float = Field(gt=0, le=1)
    sampler: ChatSampler


class Texts(Parameters):
    """`oversample` times `corpus.public_texts` texts are generated, so that enough remain without near-duplicates.

    `best_of` times as many are written where a message asks for them, and the most plausible ones are kept. If too few
    remain, the missing ones are generated in a second pass. A text is a near-duplicate if its cosine
    similarity to an earlier one is at least `similarity`.
    """

    oversample: float = Field(ge=1)
    best_of: int = Field(ge=1)
    similarity: float = Field(gt=0, le=1)
    sampler: Annotated[Sampler, AfterValidator(_needs_no_examples)]


class Described(Parameters):
    """Topics first, then texts about them."""

    topics: Topics
    texts: Texts
    seed: Seed
