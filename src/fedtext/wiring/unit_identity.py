"""The identity of privacy units: how a run tells them apart, and how another data root recognises its people.

The rules are digests for the history: which client a row belongs to, which clients train, and what one record is. All
of it is read from parameters. Two runs of equal digests mean the same people and the same records by the same ids;
different digests tell nothing, and the history accounts for the worst case (fedtext.privacy.spending).

Another data root recognises the people of a private corpus by the ids of clients, and by texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from kedro.pipeline import Pipeline

from fedtext.corpora.clients import folded, listed_ids
from fedtext.params.corpus import naming
from fedtext.privacy.spending import Rules
from fedtext.resuming.fingerprint import canonical, text_digest
from fedtext.wiring.config import ProjectConfigLoader

PAIRS = "pairs."  # begins the names of data sets of preference pairs; a pair is one record, and never cut


def unit_rules(graph: Pipeline, loader: ProjectConfigLoader) -> Rules:
    """Return the rules of the configuration, for the texts or the preference pairs that `graph` reads."""
    of_pairs = any(name.startswith(PAIRS) for name in graph.datasets())
    return Rules(split=_digest(_split(loader, of_pairs)), spans=_digest("pairs" if of_pairs else _spans(loader)))


def _split(loader: ProjectConfigLoader, of_pairs: bool) -> list[object]:
    """Return what decides a row's client and a client's split: pairs without an owner are split by their prompts."""
    parameters = loader.parameters
    return [parameters.get("partition") or {}, naming(parameters.get("corpus") or {}), of_pairs]


def _spans(loader: ProjectConfigLoader) -> object:
    """Return what decides which tokens of a text are one record; a text's first span alone is always one record."""
    chunking = loader.parameters.get("chunking") or {}
    if chunking.get("first_only"):
        return "the first of a text"
    tokenizer = loader["catalog"].get("chunk_tokenizer") or {}
    return [chunking, tokenizer.get("source") or tokenizer.get("generator")]


def _digest(value: object) -> str:
    return text_digest(canonical(value))[:12]


RECORDS = "private_records"  # what every corpus is read into, before it is split or cut


def units_known_by(records: pd.DataFrame, parameters: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Return the ids and texts by which the corpus's people are known.

    Only ids that a column of a table or the enrolment names are a person's. They are case-folded, whatever
    `corpus.client_ids` is: another file may spell a person in another way.
    """
    corpus, privacy = parameters.get("corpus") or {}, parameters.get("privacy") or {}
    named = corpus.get("source") == "table" and corpus.get("client_column") is not None
    ids = set(records["client_id"].astype(str)) if named else set()
    if isinstance(enrolment := privacy.get("enrolment"), str):
        ids |= set(listed_ids(enrolment))
    return set(map(folded, ids)), set(records["text"].astype(str))
