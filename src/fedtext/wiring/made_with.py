"""What a report says of the nodes that made what it reports on: their models and parameters, by their records.

The runner tells it node by node. The active parameters are those of whoever writes the report, and decide nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kedro.io import DataCatalog
from kedro.pipeline.node import Node

from fedtext.corpora.clients import client_of
from fedtext.datasets.run_facts import RunFactsDataset
from fedtext.models.reading_limits import readings
from fedtext.params.corpus import Corpus, Partition
from fedtext.resuming.made_with import MadeWith

FACTS = "run_facts"
SHARED = ("privacy", "chunking", "evaluation")
OF_CORPUS = ("source", "description", "max_clients", "public_texts")  # not where private files lie


def facts_in(inputs: Collection[str], catalog: DataCatalog) -> RunFactsDataset | None:
    """The data set of facts, where it is among the inputs of a node or a pipeline."""
    facts = catalog.get(FACTS) if FACTS in inputs else None
    return facts if isinstance(facts, RunFactsDataset) else None


def told(node: Node, made_with: MadeWith) -> dict[str, Any]:
    """What the report that `node` writes may say: of the groups of its algorithm, and of what all of them share."""
    known = {name: _said(values) for name, values in made_with.parameters.items()}
    made = {name.removesuffix("_report") for name in node.outputs if name.endswith("_report")}
    shown = {name: value for name, value in known.items() if name.partition(".")[0] in {*made, *SHARED}}
    return {
        "models": {name: _said(values) for name, values in made_with.models.items()},
        "readings": [[reading.reader, how] for reading, how in readings(made_with.models, known.get)],
        "parameters": {"corpus": corpus_facts(_nested(known)), **_nested(shown)},
        "unrecorded": list(made_with.unrecorded),
    }


def corpus_facts(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What a report may say of the corpus, and what a client of it is, by parameters or by those that were read."""
    said = {name: value for name, value in (parameters.get("corpus") or {}).items() if name in OF_CORPUS}
    return {**said, "a client is": _client(parameters)}


def client_description(parameters: Mapping[str, Any]) -> str | None:
    """What a client of the run's corpus is, in words (`client_of`)."""
    return client_of(Corpus.model_validate(parameters["corpus"]), Partition.model_validate(parameters["partition"]))


def _client(parameters: Mapping[str, Any]) -> str | None:
    """The same of a corpus that was read earlier; None where the records do not say all that decides it."""
    corpus, partition = parameters.get("corpus") or {}, parameters.get("partition") or {}
    try:
        return client_of(Corpus.model_construct(**corpus), Partition.model_construct(**partition))
    except AttributeError:  # of a field that nobody has read
        return None


def _said(values: tuple[Any, ...]) -> Any:
    """A value; where parts of the result were made at several, all of them in words."""
    return values[0] if len(values) == 1 else " and ".join(map(str, values))


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Groups in groups, of values by dotted names."""
    nested: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        inside = nested
        for group in groups:
            inside = inside.setdefault(group, {})
        inside[last] = value
    return nested
