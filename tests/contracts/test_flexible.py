"""Flexible participation's registered graphs: private data leave by training, profile and votes, whatever is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kedro.framework.startup import bootstrap_project
from kedro.pipeline import Pipeline

from fedtext.params.flexible import Flexible
from fedtext.params.silos import Silos
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import ProjectConfigLoader

ROOT = Path(__file__).parents[2]
ALWAYS = ["flexible.count_codes", "flexible.train_strong_silos"]
RELEASES = {
    "votes": ["flexible.cast_votes", *ALWAYS],
    "herd": [ALWAYS[0], "flexible.release_code_means", ALWAYS[1]],
    "uniform": ALWAYS,
    "none": ALWAYS,
}


def registered(env: str | None = None, **groups: dict[str, Any]) -> Pipeline:
    from fedtext.pipeline_registry import register_pipelines

    bootstrap_project(ROOT)
    ProjectConfigLoader(
        conf_source=str(ROOT / "conf"), env=env, base_env="base", default_run_env="local", runtime_params=groups or None
    )
    return register_pipelines()["flexible"]


@pytest.mark.parametrize("selection", RELEASES)
def test_private_data_leave_only_by_the_planned_releases(selection: str) -> None:
    from fedtext.wiring.hooks import check_registered_pipelines

    job = registered(flexible={"selection": selection})
    assert check_registered_pipelines({"flexible": job}) == []
    found = [node.name for node in job.nodes if Tag.RELEASE in node.tags and node.name.startswith("flexible.")]
    assert sorted(found) == RELEASES[selection]


def test_silos_of_a_private_corpus_are_declared_and_never_counted() -> None:
    declared = {"source": "table", "path": "notes.csv", "declared_public": False}
    job = registered(corpus=declared, privacy={"population": 900})
    (maker,) = (node for node in job.nodes if "flexible.population" in node.outputs)
    assert maker.inputs == ["params:silos"]
    (counter,) = (node for node in registered().nodes if "flexible.population" in node.outputs)
    assert Tag.COUNT in counter.tags


@pytest.mark.parametrize("env", [None, "tiny", "hub", "paper"])
def test_every_environment_builds_and_validates(env: str | None) -> None:
    registered(env)
    loader = ProjectConfigLoader.active
    assert loader is not None
    Flexible.model_validate(loader["parameters"]["flexible"])
    Silos.model_validate(loader["parameters"]["silos"])
