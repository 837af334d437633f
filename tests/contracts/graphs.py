"""The registered pipelines of a choice of parameters, each made once: many contracts look at the same graphs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from kedro.framework.startup import bootstrap_project
from kedro.pipeline import Pipeline

from fedtext.wiring.config import ProjectConfigLoader, active_loader, active_parameters, loader_for
from fedtext.wiring.guard.catalog import catalog_resolver
from fedtext.wiring.hooks.privacy_flow import IN_MEMORY, _Check

ROOT = Path(__file__).parents[2]


def registered(env: str | None = None, **groups: dict[str, Any]) -> dict[str, Pipeline]:
    """All pipelines as `kedro run --env ENV --params GROUP.NAME=VALUE` would build them; their loader is the active one."""
    loader, pipelines = _made(env, json.dumps(groups, sort_keys=True))
    ProjectConfigLoader.active = loader
    return dict(pipelines)


@lru_cache(maxsize=24)
def _made(env: str | None, groups: str) -> tuple[ProjectConfigLoader, dict[str, Pipeline]]:
    from fedtext.pipeline_registry import register_pipelines

    bootstrap_project(ROOT)
    return loader_for(env, json.loads(groups)), register_pipelines()


def check_pipeline(pipeline: Pipeline, catalog_config: Mapping[str, Any]) -> list[str]:
    """Violations of one pipeline under a catalog configuration (`config_loader["catalog"]`), in words."""
    return _Check(catalog_resolver(catalog_config, IN_MEMORY), active_parameters()).pipeline(pipeline)


def check_registered_pipelines(pipelines: Mapping[str, Pipeline]) -> list[str]:
    """Violations of every pipeline under the active configuration's catalog, each with its pipeline's name."""
    check = _Check(catalog_resolver(active_loader()["catalog"], IN_MEMORY), active_parameters())
    nodes = [node for pipeline in pipelines.values() for node in pipeline.nodes]
    return [
        *(f"{name}: {violation}" for name, pipeline in pipelines.items() for violation in check.pipeline(pipeline)),
        *(f"together: {violation}" for violation in check.together(pipelines.values(), nodes)),
    ]
