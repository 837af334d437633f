"""Facts for a report: models and parameters of the nodes that made its inputs, from the runner's records.

The runner gives them node by node. The active parameters of the run that writes the report are no facts; where they
differ from what its inputs were made with, it is not written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kedro.io import DataCatalog
from kedro.pipeline.node import Node

from fedtext.corpora.clients import client_of
from fedtext.datasets.run_facts import RunFactsDataset
from fedtext.models.reading_limits import readings
from fedtext.params.corpus import Corpus, Partition
from fedtext.privacy.tags import Tag
from fedtext.resuming.decision import Resumption
from fedtext.resuming.made_with import MadeWith
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.conf_files import value_at
from fedtext.wiring.config import active_parameters

FACTS = "run_facts"
SHARED = ("privacy", "chunking", "evaluation")
OF_CORPUS = ("source", "description", "openings", "max_clients", "public_texts")  # not where private files lie


def facts_in(inputs: Collection[str], catalog: DataCatalog) -> RunFactsDataset | None:
    """Return the data set of facts, if it is among the inputs of a node or a pipeline."""
    facts = catalog.get(FACTS) if FACTS in inputs else None
    return facts if isinstance(facts, RunFactsDataset) else None


def report_facts(node: Node, made_with: MadeWith) -> dict[str, Any]:
    """Return the facts for the report that `node` writes: of its algorithm's groups, and of those that all share."""
    known = {name: _joined(values) for name, values in made_with.parameters.items()}
    made = {name.removesuffix("_report") for name in node.outputs if name.endswith("_report")}
    shown = {name: value for name, value in known.items() if name.partition(".")[0] in {*made, *SHARED}}
    return {
        "models": {name: _joined(values) for name, values in made_with.models.items()},
        "readings": [[reading.reader, how] for reading, how in readings(made_with.models, known.get)],
        "parameters": {"corpus": corpus_facts(_nested(known)), **_nested(shown)},
        "unrecorded": list(made_with.unrecorded),
    }


def corpus_facts(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report's facts on the corpus and on what a client of it is, from given or recorded parameters."""
    said = {name: value for name, value in (parameters.get("corpus") or {}).items() if name in OF_CORPUS}
    return {**said, "a client is": _client(parameters)}


def client_description(parameters: Mapping[str, Any]) -> str | None:
    """Return what a client of the run's corpus is, in words (`client_of`)."""
    return client_of(Corpus.model_validate(parameters["corpus"]), Partition.model_validate(parameters["partition"]))


def give_facts(resumption: Resumption, node: Node, catalog: DataCatalog) -> None:
    """Give the report that `node` writes the facts of the nodes that made its inputs."""
    if (facts := facts_in(node.inputs, catalog)) is not None:
        facts.add_facts(report_facts(node, resumption.made_with(node)))


def check_same_parameters(resumption: Resumption, node: Node) -> None:
    """Raise RunRefusedError for a report with other parameters than those that made its inputs, or with inputs apart.

    Its sentences would be about another run, or about two at once.
    """
    if Tag.REPORT not in node.tags:
        return
    if others := resumption.contradictions(node):
        name, values = next(iter(others.items()))
        raise RunRefusedError(
            f"{node.name} would report {name} = {value_at(active_parameters(), name)!r}, but what it reports on was "
            f"made at {_all(values)}: give that value, or run the whole pipeline",
            code="report-of-other-parameters",
            parameter=name,
        )
    if several := {name: values for name, values in resumption.made_with(node).parameters.items() if values[1:]}:
        name, values = next(iter(several.items()))
        raise RunRefusedError(
            f"{node.name} would report on parts that were made at {name} = {_all(values)}, as of one run: run the "
            "whole pipeline, which makes again what is of another value",
            code="report-of-two-runs",
            parameter=name,
        )


def _client(parameters: Mapping[str, Any]) -> str | None:
    """Return the same of a corpus that was read earlier; None if the records lack a parameter that decides it."""
    corpus, partition = parameters.get("corpus") or {}, parameters.get("partition") or {}
    try:
        return client_of(Corpus.model_construct(**corpus), Partition.model_construct(**partition))
    except AttributeError:  # a field that no node has read
        return None


def _joined(values: tuple[Any, ...]) -> Any:
    """Return a value; if parts of the result were made with several, all of them in words."""
    return values[0] if len(values) == 1 else " and ".join(map(str, values))


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested groups from values by dotted names."""
    nested: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        inside = nested
        for group in groups:
            inside = inside.setdefault(group, {})
        inside[last] = value
    return nested


def _all(values: Sequence[Any]) -> str:
    return " and ".join(map(repr, values))
