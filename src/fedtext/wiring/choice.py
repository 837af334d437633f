"""What a command chooses of the graph: names of pipelines, nodes, tags, data sets and versions, and what they meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kedro.framework import project
from kedro.pipeline import Pipeline

from fedtext.system.meant import meant
from fedtext.system.refusal import RunRefusedError

OPTIONS = {  # of `kedro run` by what Kedro calls them, and the kind of name that they take
    "node_names": ("--nodes", "node"),
    "from_nodes": ("--from-nodes", "node"),
    "to_nodes": ("--to-nodes", "node"),
    "from_inputs": ("--from-inputs", "data set"),
    "to_outputs": ("--to-outputs", "data set"),
    "tags": ("--tags", "tag"),
    "namespaces": ("--namespaces", "namespace"),
    "load_versions": ("--load-versions", "data set"),
}


def check_pipelines(names: Sequence[str]) -> None:
    """Raises RunRefusedError for a name that no registered pipeline has."""
    known = list(project.pipelines.keys())
    for name in names:
        if name not in known:
            raise RunRefusedError(f"no pipeline is named '{name}': {meant(name, known, 'see `kedro registry list`')}")


def check_choice(chosen: Mapping[str, Any]) -> None:
    """Raises RunRefusedError for what is not in the graph, or if nothing is left; `chosen` is as Kedro's `run` has it.

    It costs nothing where nothing is wrong: it is asked once Kedro has failed to choose.
    """
    names = chosen.get("pipeline_names") or ["__default__"]
    check_pipelines(names)
    graph = sum((project.pipelines[name] for name in names), start=Pipeline([]))
    known = _names(graph)
    for option, (flag, kind) in OPTIONS.items():
        for name in chosen.get(option) or ():
            if name not in known[kind]:
                see = f"`kedro registry describe {names[0]}` lists the nodes, `kedro viz run` shows the graph"
                raise RunRefusedError(f"{flag} {name}: no {kind} has this name; {meant(name, known[kind], see)}")
    asked = [f"{flag} {','.join(chosen[option])}" for option, (flag, _) in OPTIONS.items() if chosen.get(option)]
    if asked and not _left(graph, chosen):
        raise RunRefusedError(f"{' and '.join(asked)} have no node in common: leave one of them out")


def _names(graph: Pipeline) -> dict[str, set[str]]:
    return {
        "node": {node.name for node in graph.nodes},
        "data set": {name for name in graph.datasets() if not name.startswith("params:")},
        "tag": set().union(*(node.tags for node in graph.nodes)),
        "namespace": set().union(*(_namespaces(node.namespace) for node in graph.nodes)),
    }


def _namespaces(namespace: str | None) -> Iterator[str]:
    parts = (namespace or "").split(".") if namespace else []
    return (".".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _left(graph: Pipeline, chosen: Mapping[str, Any]) -> bool:
    options = {name: chosen.get(name) for name in OPTIONS if name not in ("namespaces", "load_versions")}
    try:
        return bool(graph.filter(**options, node_namespaces=chosen.get("namespaces")).nodes)
    except ValueError:
        return False
