"""The registered pipelines of a choice of parameters, each made once: many contracts look at the same graphs."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from kedro.framework.startup import bootstrap_project
from kedro.pipeline import Pipeline

from fedtext.wiring.config import ProjectConfigLoader, loader_for

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
