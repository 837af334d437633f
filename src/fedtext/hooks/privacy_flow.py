"""The privacy flow check on a Kedro graph: before every run, and in a test for every registered pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kedro.framework import project
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.io.catalog_config_resolver import CatalogConfigResolver
from kedro.pipeline import Pipeline

from fedtext.config import active_loader, privacy_class
from fedtext.refusal import RunRefusedError

IN_MEMORY: dict[str, dict[str, Any]] = {"{default}": {"type": "MemoryDataset"}}


class PrivacyFlowHook:
    """Refuses, before anything runs, a graph that would carry private data where it may not go."""

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Raises RunRefusedError with every violation of the graphs that the run is of.

        A slice is judged as part of the whole: alone it does not show what was read to make its inputs.
        """
        whole = sum(
            (project.pipelines[name] for name in run_params.get("pipeline_names") or ["__default__"]), start=pipeline
        )
        if found := _violations(whole, catalog.config_resolver):
            raise RunRefusedError("the privacy flow check refuses this run; nothing was read:", found)


def check_pipeline(pipeline: Pipeline, catalog_config: Mapping[str, Any]) -> list[str]:
    """Violations of one pipeline under a catalog configuration (`config_loader["catalog"]`), in words."""
    return _violations(pipeline, CatalogConfigResolver(dict(catalog_config), {}, IN_MEMORY))


def check_registered_pipelines(pipelines: Mapping[str, Pipeline]) -> list[str]:
    """Violations of every pipeline under the active configuration's catalog, each with its pipeline's name."""
    catalog = active_loader()["catalog"]
    return [
        f"{name}: {violation}"
        for name, pipeline in pipelines.items()
        for violation in check_pipeline(pipeline, catalog)
    ]


def dataset_classes(names: Iterable[str], resolver: CatalogConfigResolver) -> dict[str, str]:
    """`private`, `released` or `public` of every dataset that says so, dataset factories included.

    Parameters are public by construction: they come from YAML.
    """
    classes = {}
    for name in names:
        if _is_parameter(name):
            classes[name] = "public"
        elif stated := privacy_class(name, entry(name, resolver)):
            classes[name] = stated
    return classes


def entry(name: str, resolver: CatalogConfigResolver) -> dict[str, Any]:
    """The catalog entry that a dataset name resolves to; empty for one that only lives in memory."""
    if name not in resolver.config and not (
        resolver.match_dataset_pattern(name) or resolver.match_user_catch_all_pattern(name)
    ):
        return {}
    return resolver.resolve_pattern(name)


def _violations(pipeline: Pipeline, resolver: CatalogConfigResolver) -> list[str]:
    from fedtext.privacy.flow import GraphNode, check_flow

    nodes = [
        GraphNode(name=node.name, inputs=tuple(node.inputs), outputs=tuple(node.outputs), tags=frozenset(node.tags))
        for node in pipeline.nodes
    ]
    entries = {name: entry(name, resolver) for name in sorted(pipeline.datasets()) if not _is_parameter(name)}
    found = check_flow(
        nodes,
        dataset_classes(pipeline.datasets(), resolver),
        previewed={name for name, config in entries.items() if _previewed(config)},
        logged={name for name, config in entries.items() if _logged(config)},
    )
    return [str(violation) for violation in found]


def _previewed(config: dict[str, Any]) -> bool:
    """Kedro-Viz previews what it can unless the entry says `preview: false`."""
    return bool(config) and ((config.get("metadata") or {}).get("kedro-viz") or {}).get("preview") is not False


def _logged(config: dict[str, Any]) -> bool:
    tracked = ((config.get("metadata") or {}).get("fedtext") or {}).get("tracked", False)
    return bool(tracked) or str(config.get("type", "")).startswith("kedro_mlflow.")


def _is_parameter(name: str) -> bool:
    return name == "parameters" or name.startswith("params:")
