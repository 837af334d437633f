"""Nodes that read private records from one source, and read or write public ones."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fedtext.corpora.clients import client_ids, selected_clients
from fedtext.corpora.public import public_records, stdlib_records
from fedtext.corpora.published.loader import read_published
from fedtext.corpora.published.readers import READERS
from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.corpora.table import read_table, validate_private_rows, validate_texts
from fedtext.evaluation.fluency import FLUENT, TEXTS, nats_per_byte
from fedtext.evaluation.scoring import evenly_spaced
from fedtext.generation.described import described_texts, proposed_topics
from fedtext.generation.languages import language_of
from fedtext.models.encoder import Encoder
from fedtext.models.generator import ChatGenerator, Generator
from fedtext.models.language_model import LanguageModel
from fedtext.models.languages import ENGLISH, THAT_WRITES
from fedtext.models.smollm2 import NAME as SMOLLM2
from fedtext.params.corpus import Corpus, as_phrase
from fedtext.params.described import Described
from fedtext.params.privacy import Privacy
from fedtext.system.missing import nullable
from fedtext.system.refusal import RunRefusedError

LOG = logging.getLogger(__name__)


def read_private_docstrings(corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """Read records of the running interpreter's standard library, of about `corpus.max_clients` objects."""
    return selected_clients(stdlib_records(corpus), corpus, privacy)


def read_private_table(corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """Read records of the CSV, Parquet or JSONL file `corpus.path`, of about `corpus.max_clients` clients of it."""
    records = read_table(corpus)
    validate_texts(records, str(corpus.path), corpus.text_column)
    validate_private_rows(records["text"].tolist(), corpus)
    return selected_clients(records, corpus, privacy)


def read_private_published(corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """Read records of the published data set `corpus.source` in `corpus.path`, of about `max_clients` clients."""
    from fedtext.largefedbench.sources.pubmed import pubmed_rows

    records = read_published(corpus, {**READERS, "pubmed": pubmed_rows})
    validate_texts(records, str(corpus.path), "text")
    validate_private_rows(records["text"].tolist(), corpus)
    return selected_clients(records, corpus, privacy)


def read_private_snapshot(largefedbench_snapshot: Path, corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """Read records of one config of a snapshot, verified first.

    About `corpus.max_clients` of the clients are taken by a hash of their id: a fair part of all dates and sources.
    """
    from fedtext.largefedbench.snapshot import read_snapshot
    from fedtext.largefedbench.sources.openreview import coded_label

    if corpus.code_columns and corpus.config != "openreview":
        raise RunRefusedError(
            f"corpus.code_columns is '{' '.join(corpus.code_columns)}' and corpus.config {corpus.config!r}: reviews of "
            "the config openreview alone have these parts; leave code_columns out",
            code="config-without-code-columns",
            parameter="corpus.code_columns",
        )
    records = read_snapshot(largefedbench_snapshot, str(corpus.config))
    if columns := corpus.code_columns:
        records["label"] = [coded_label(label, columns) for label in nullable(records["label"])]
    ids = client_ids(records["client_id"].tolist(), corpus.client_ids, f"snapshot {largefedbench_snapshot}")
    return selected_clients(records.assign(client_id=ids), corpus, privacy)


def read_public_records(corpus: Corpus) -> pd.DataFrame:
    """Read `corpus.public_texts` public records: third-party docstrings, or the table `corpus.public_path`."""
    return public_records(corpus, max_texts=corpus.public_texts)


def judge_generator(public_records: pd.DataFrame, generator: Generator) -> dict[str, Any]:
    """Measure how well the generator knows the user's public texts; warn if it will hardly write such texts.

    A server gives no likelihoods: its `nats_per_byte` is None.
    """
    if not isinstance(generator, LanguageModel):
        return {"generator": generator.identity, "nats_per_byte": None}
    texts = evenly_spaced(public_records["text"].tolist(), TEXTS)
    found = nats_per_byte(generator, texts)
    if found > FLUENT:
        LOG.warning(
            "Generator %s hardly knows texts like those of corpus.public_path: %.2f nats a byte, and what it can write "
            "is below %.2f. Take another one, as models.generator=%s (docs/generators.md)",
            generator.identity,
            found,
            FLUENT,
            another_generator(generator.identity, texts),
        )
    return {"generator": generator.identity, "nats_per_byte": found}


def another_generator(generator: str, texts: Sequence[str]) -> str:
    """Return a generator that may know the texts: SmolLM2 for English ones, unless it is the one that does not."""
    english = language_of("\n".join(texts)) in (ENGLISH, None)
    return SMOLLM2 if english and not generator.startswith(SMOLLM2) else THAT_WRITES


def propose_topics(description: str, described: Described, generator: ChatGenerator, encoder: Encoder) -> pd.DataFrame:
    """Propose topics of texts of the kind `corpus.description`, by the generator: one row a topic.

    Topics are for page prompts that name them. In a message they do harm (docs/decisions/0046): one row, which names
    none.
    """
    if not described.texts.sampler.names_topics:
        return pd.DataFrame({"topic": pd.Series([None], dtype=object)})
    kind = as_phrase(description)
    return pd.DataFrame({"topic": proposed_topics(generator, encoder, kind, described.topics, seed=described.seed)})


def write_described_texts(
    public_topics: pd.DataFrame,
    public_texts: int,
    description: str,
    described: Described,
    generator: ChatGenerator,
    encoder: Encoder,
) -> pd.DataFrame:
    """Write `corpus.public_texts` public records of the kind `corpus.description`; the label is its topic, if any."""
    texts = described_texts(
        generator,
        encoder,
        as_phrase(description),
        public_topics["topic"].tolist(),
        described.texts,
        count=public_texts,
        seed=described.seed,
    )
    names = [f"described-{number:05d}" for number in range(1, len(texts) + 1)]
    records = texts.rename(columns={"topic": "label"}).assign(client_id=names, date=None)
    return records[list(RECORD_COLUMNS)]
