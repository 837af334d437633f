"""Private Evolution's registered graphs: private data leave by one release a round, whatever form and variation."""

from __future__ import annotations

from typing import Any

import pytest
from kedro.pipeline import Pipeline

from fedtext.params.pe import Pe
from fedtext.params.pe_sft import PeSft
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import ProjectConfigLoader
from tests.contracts import graphs


def registered(env: str | None = None, **pe: Any) -> dict[str, Pipeline]:
    jobs = graphs.registered(env, **({"pe": pe} if pe else {}))
    return {name: jobs[name] for name in ("pe", "pe_sft")}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"form": "aug_pe", "variations": 6},
        {"lookahead": 4, "variation": "mask_filling"},
        {"final": "survivors"},
        {"form": "aug_pe", "final": "accumulated"},
    ],
    ids=lambda c: ",".join(c) or "base",
)
def test_private_data_leave_only_by_one_release_a_round(changes: dict[str, Any]) -> None:
    from tests.contracts.graphs import check_registered_pipelines

    pipelines = registered(rounds=3, **changes)
    assert check_registered_pipelines(pipelines) == []
    for pipeline in pipelines.values():
        released = [node.name for node in pipeline.nodes if Tag.RELEASE in node.tags]
        assert sorted(released) == [f"pe.round_0{t}.count_votes" for t in (1, 2, 3)]


@pytest.mark.parametrize("env", [None, "tiny", "hub", "paper"])
def test_every_environment_builds_and_validates(env: str | None) -> None:
    pipelines = registered(env)
    loader = ProjectConfigLoader.active
    assert loader is not None
    parameters = loader["parameters"]
    pe = Pe.model_validate(parameters["pe"])
    PeSft.model_validate(parameters["pe_sft"])
    rounds = {name for name in pipelines["pe"].all_outputs() if name.startswith("pe.round_") and ".state" in name}
    assert len(rounds) == pe.rounds
