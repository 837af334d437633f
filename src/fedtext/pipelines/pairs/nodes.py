"""The pairs' nodes: read, split by client or by prompt, embedded by their owners; and the form of their dialogues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fedtext.corpora.annotators import annotators, preferences, questions, sharpness_for
from fedtext.corpora.clients import selected_clients
from fedtext.corpora.preferences import (
    as_records,
    preferred,
    private_pairs,
    split_by_prompt,
    validate_private_prompts,
    with_new_prompts,
)
from fedtext.corpora.public import public_prompts, stdlib_records
from fedtext.corpora.records import SPLITS
from fedtext.corpora.splits import client_splits, validate_splits
from fedtext.embedding.similarity import differences_of
from fedtext.federation.private_samples import label_codes
from fedtext.generation.dialogue import ASSISTANT, SUMMARY, Dialogue, embedded_answers, generate_answers
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator
from fedtext.params.annotation import Annotation
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.privacy import Privacy
from fedtext.pipelines.clients.nodes import units_of
from fedtext.seeding import derived_seed


def dialogue_of(source: str, *, chat: bool = False) -> Dialogue:
    """Return the form of dialogues: posts with summaries, or turns by Human and Assistant (C.3), or chat messages."""
    return Dialogue(chat, SUMMARY if source == "tldr" else ASSISTANT)


Arrays = dict[str, np.ndarray]
ALL = 10**9  # prompts of a public file that are compared with the private ones


def read_private_pairs(corpus: Corpus, privacy: Privacy, partition: Partition) -> pd.DataFrame:
    """Read the pairs of `corpus.path`: `prompt`, `chosen`, `rejected`, `client_id`, and `text`, all that each holds.

    A public corpus that leaves a split empty is refused here, before any work on it.
    """
    pairs = private_pairs(corpus, privacy)
    if corpus.public_path is not None:
        validate_private_prompts(pairs, public_prompts(corpus, ALL, 0), corpus.public_path)
    if privacy.enrolment is None:  # a list of ids is split by them
        pairs = split_by_prompt(pairs, partition)
    if corpus.is_public:
        validate_splits(pairs, partition)
    return as_records(pairs)


def set_sharpness(generator: Generator, corpus: Corpus, annotation: Annotation) -> dict[str, Any]:
    """Calibrate the simulated annotators' decisiveness (`sharpness`), on questions about installed packages."""
    known = public_prompts(corpus, annotation.public_questions, annotation.seed)["prompt"].tolist()
    firsts, seconds = zip(*two_answers(generator, known, annotation), strict=True)
    return {"sharpness": sharpness_for(known, firsts, seconds, annotation.accuracy)}


def answer_questions(generator: Generator, corpus: Corpus, annotation: Annotation) -> pd.DataFrame:
    """Write two answers, `first` and `second`, to each `prompt` on the standard library, for simulated annotators."""
    people = annotators(annotation.annotators, annotation.seed)
    names = stdlib_records(corpus)["client_id"].tolist()
    asked = questions(names, people[-1].questions.stop, annotation.seed)
    both = two_answers(generator, asked, annotation)
    rows = [(question, *answers) for question, answers in zip(asked, both, strict=True)]
    return pd.DataFrame(rows, columns=["prompt", "first", "second"])


def ask_annotators(
    shown: pd.DataFrame, decided: dict[str, Any], corpus: Corpus, privacy: Privacy, annotation: Annotation
) -> pd.DataFrame:
    """Simulate the annotators' pairs: which of two answers each of them chose."""
    people = annotators(annotation.annotators, annotation.seed)
    both = list(zip(shown["first"], shown["second"], strict=True))
    pairs = preferences(people, shown["prompt"].tolist(), both, sharpness=decided["sharpness"], seed=annotation.seed)
    return as_records(selected_clients(preferred(pairs), corpus, privacy))


def two_answers(generator: Generator, asked: list[str], annotation: Annotation) -> list[tuple[str, str]]:
    """Return two answers of the generator to each question; some may be empty."""
    written = generate_answers(
        generator,
        Dialogue(chat=annotation.sampler.prompt == "chat"),
        pd.DataFrame({"prompt_id": range(len(asked)), "prompt": asked}),
        responses=2,
        sampler=annotation.sampler,
        seed=derived_seed(annotation.seed, "answers"),
        label="answers for annotators",
    )["text"].tolist()
    return list(zip(written[::2], written[1::2], strict=True))


def split_pairs(
    private_pairs: pd.DataFrame, corpus: Corpus, partition: Partition
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Split pairs into training, validation and test clients; of public ones, only new prompts are held out."""
    split = private_pairs["client_id"].map(client_splits(private_pairs, partition))
    train, validation, test = (private_pairs[split == name].reset_index(drop=True) for name in SPLITS)
    if corpus.is_public:
        train, validation, test = with_new_prompts(train, validation, test)
    return train, validation, test


def embed_private_pairs(private_train: pd.DataFrame, encoder: Encoder, source: str) -> Arrays:
    """Embed the clients' pairs: arrays `features` (d), `middle`, `client`, `record`, `label` (none)."""
    answers = private_train[["chosen", "rejected"]].to_numpy().tolist()
    embedded = embedded_answers(
        encoder, dialogue_of(source), private_train["prompt"].tolist(), answers, label="private pairs"
    )
    both = embedded.reshape(len(answers), 2, encoder.dim)  # two answers a pair, where there is no pair too
    features, middle = differences_of(both)
    return {
        "features": features,
        "middle": middle,
        **units_of(private_train),
        "label": label_codes([None] * len(private_train)),
    }
