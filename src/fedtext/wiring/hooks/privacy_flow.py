"""The privacy flow check on a Kedro graph: before every run, and in a test for every registered pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kedro.framework import project
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.io.catalog_config_resolver import CatalogConfigResolver
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from pydantic import ValidationError

from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.privacy.flow import (
    Declared,
    GraphNode,
    Violation,
    check_files,
    check_flow,
    check_further_files,
    check_private_places,
)
from fedtext.privacy.flow.check import is_private
from fedtext.system.errors import InputError
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.config import active_data_root, active_parameters, corpus_is_public
from fedtext.wiring.guard.bound import KnownStrings, bound_values
from fedtext.wiring.guard.catalog import (
    dataset_classes,
    entry,
    further_places,
    is_logged,
    is_parameter,
    is_previewed,
    layers,
    place,
)
from fedtext.wiring.guard.parameters import copies, named_files, private_files, texts, undeclared

IN_MEMORY_TYPES = ("MemoryDataset", "kedro.io.MemoryDataset")
IN_MEMORY: dict[str, dict[str, Any]] = {"{default}": {"type": "MemoryDataset"}}


class PrivacyFlowHook:
    """Refuses, before anything runs, a graph in which private data flow to where they may not go."""

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Raise RunRefusedError with every violation of the graphs that the run belongs to.

        A slice is checked as part of the whole: alone it does not show what was read to make its inputs. So is the run
        as part of all registered pipelines: what one of them evaluates may steer no other.
        """
        whole = sum(
            (project.pipelines[name] for name in run_params.get("pipeline_names") or ["__default__"]), start=pipeline
        )
        check = _Check(catalog.config_resolver, active_parameters())
        found = [
            *(Violation("undeclared file", "", "", one) for one in undeclared(active_parameters())),
            *(Violation("copied file", "", "", one) for one in copies(active_parameters())),
            *check.pipeline(whole),
            *check.together(project.pipelines.values(), whole.nodes),
        ]
        if found:
            raise RunRefusedError(
                "the privacy flow check refuses this run; nothing was read:",
                code="private-data-flow",
                faults=[
                    InputError(one.message, code="private-data-would-flow", value=one.rule)
                    for one in {one.message: one for one in found}.values()
                ],
            )


class _Check:
    """The check under one catalog and one set of parameters."""

    def __init__(self, resolver: CatalogConfigResolver, parameters: Mapping[str, Any]) -> None:
        self._resolver, self._parameters = resolver, parameters
        self._data_root = active_data_root().resolve()
        self._private_files = private_files(parameters)
        self._known = KnownStrings(frozenset(self._private_files.values()), frozenset(texts(parameters)))

    def pipeline(self, pipeline: Pipeline) -> list[Violation]:
        """Return the violations of one graph."""
        entries = self._entries(pipeline.datasets())
        found = check_flow(
            self._graph(pipeline.nodes),
            dataset_classes(pipeline.datasets(), self._resolver),
            previewed={name for name, config in entries.items() if is_previewed(config)},
            logged={name for name, config in entries.items() if is_logged(config)},
            declared=_declared(self._parameters),
        )
        written = {name for node in pipeline.nodes for name in node.outputs}
        places = {name: place(entries[name]) for name in written & entries.keys() if self._is_stored(name)}
        return [*found, *check_private_places(places, self._data_root)]

    def _is_stored(self, name: str) -> bool:
        """Return whether a data set is private and outlives its run; a wrapper (a cache) lies where its entry does."""
        *_, innermost = [{}, *layers(entry(name, self._resolver))]
        kept = innermost.get("type") not in (None, *IN_MEMORY_TYPES)
        return kept and is_private(name, dataset_classes([name], self._resolver))

    def together(self, pipelines: Iterable[Pipeline], judged: Sequence[Node]) -> list[Violation]:
        """Return the violations that only show in all pipelines at once: of the nodes `judged`, and of files."""
        pipelines = list(pipelines)
        names = set().union(*(pipeline.datasets() for pipeline in pipelines))
        nodes = {node for pipeline in pipelines for node in self._graph(pipeline.nodes)}
        classes, asked = dataset_classes(names, self._resolver), {node.name for node in judged}
        flow = check_flow(sorted(nodes, key=lambda node: node.name), classes)
        steered = [violation for violation in flow if violation.node in asked and violation.rule == "steers"]
        files, classes = self._files(names), classes | self._classes_of_parameters()
        named = {name: further_places(config) for name, config in self._entries(names).items()}
        return [*steered, *check_files(files, classes), *check_further_files(named, files, classes)]

    def _graph(self, nodes: Iterable[Node]) -> list[GraphNode]:
        return [
            GraphNode(
                name=node.name,
                inputs=tuple(node.inputs),
                outputs=tuple(node.outputs),
                tags=frozenset(node.tags),
                bound=bound_values(node.func, self._known),
            )
            for node in nodes
        ]

    def _entries(self, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        return {name: entry(name, self._resolver) for name in sorted(names) if not is_parameter(name)}

    def _files(self, names: Iterable[str]) -> dict[str, Path]:
        found = {name: place(config) for name, config in self._entries(names).items()}
        named = {f"params:{name}": path.resolve() for name, path in named_files(self._parameters).items()}
        return {name: path for name, path in found.items() if path is not None} | {
            name: path for name, path in named.items() if path.is_file()
        }

    def _classes_of_parameters(self) -> dict[str, str]:
        return {f"params:{name}": "private" for name in self._private_files}


def _declared(parameters: Mapping[str, Any]) -> Declared:
    """Return what may leave beside releases: everything of a public corpus, nothing if the parameters are faulty."""
    if corpus_is_public(parameters):
        return Declared()
    try:
        corpus = Corpus.model_validate(parameters.get("corpus") or {})
        evaluation = Evaluation.model_validate(parameters.get("evaluation") or {})
    except ValidationError:
        return Declared(public_corpus=False, exact_figures=False, private_control=False)
    exact, control = not evaluation.is_dp(corpus), evaluation.has_private_control(corpus)
    return Declared(public_corpus=False, exact_figures=exact, private_control=control)
