"""How a run tells units apart, and by what their people are known in another data root.

How this run tells units apart, as digests for the history: who is whose, who is trained on, what is one record.

All of it is read from parameters. Two runs of equal digests mean the same people and the same records by the same ids;
of different ones nothing is known, and the history prices what may be (fedtext.privacy.spending).

By what of a private corpus its people are known in another data root: the ids of clients, and texts.
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
from fedtext.wiring.config import active_loader, active_parameters

PAIRS = "pairs."  # begins the names of data sets of preference pairs; a pair is one record, and never cut


def active_rules(graph: Pipeline) -> Rules:
    """Those of the active parameters, for the texts or the preference pairs that `graph` reads."""
    of_pairs = any(name.startswith(PAIRS) for name in graph.datasets())
    return Rules(split=_digest(_split(of_pairs)), spans=_digest("pairs" if of_pairs else _spans()))


def _split(of_pairs: bool) -> list[object]:
    """What decides which client a row is of, and which part a client: pairs without an owner go by their prompts."""
    parameters = active_parameters()
    return [parameters.get("partition") or {}, naming(parameters.get("corpus") or {}), of_pairs]


def _spans() -> object:
    """What decides which tokens of a text are one record; of a text's first span alone there is one, however long."""
    chunking = active_parameters().get("chunking") or {}
    if chunking.get("first_only"):
        return "the first of a text"
    tokenizer = active_loader()["catalog"].get("chunk_tokenizer") or {}
    return [chunking, tokenizer.get("source") or tokenizer.get("generator")]


def _digest(value: object) -> str:
    return text_digest(canonical(value))[:12]


RECORDS = "private_records"  # what every corpus is read into, before it is split or cut


def units_known_by(records: pd.DataFrame, parameters: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Ids and texts. Ids are those that a column of a table or the enrolment names: no other ones are anybody's.

    They are folded, whatever `corpus.client_ids` says: another file may spell a person in another way.
    """
    corpus, privacy = parameters.get("corpus") or {}, parameters.get("privacy") or {}
    named = corpus.get("source") == "table" and corpus.get("client_column") is not None
    ids = set(records["client_id"].astype(str)) if named else set()
    if isinstance(enrolment := privacy.get("enrolment"), str):
        ids |= set(listed_ids(enrolment))
    return set(map(folded, ids)), set(records["text"].astype(str))
