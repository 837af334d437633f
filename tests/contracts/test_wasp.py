"""WASP's registered graphs: private data leave by T-1 votes, by one release, or not at all, whatever the models."""

from __future__ import annotations

from typing import Any

import pytest
from kedro.pipeline import Pipeline

from fedtext.params.wasp import Wasp
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import ProjectConfigLoader
from tests.contracts import graphs
from tests.refusals import refuses

RELEASES = {
    "top_q": ["wasp.round_01.cast_votes", "wasp.round_02.cast_votes"],
    "single_release": ["wasp.release_class_means"],
    "random": [],
    "none": ["wasp.round_01.count_votes_unaccounted", "wasp.round_02.count_votes_unaccounted"],
}


def registered(env: str | None = None, plms: dict[str, Any] | None = None, **wasp: Any) -> Pipeline:
    given = {"wasp": wasp} if wasp else {}
    return graphs.registered(env, **given, **({"models": {"plms": plms}} if plms else {}))["wasp"]


def released(job: Pipeline) -> list[str]:
    return sorted(node.name for node in job.nodes if Tag.RELEASE in node.tags and node.name.startswith("wasp."))


@pytest.mark.parametrize("votes", RELEASES)
def test_private_data_leave_only_by_the_planned_releases(votes: str) -> None:
    from tests.contracts.graphs import check_registered_pipelines

    job = registered(rounds=3, votes=votes)
    assert check_registered_pipelines({"wasp": job}) == []
    assert released(job) == RELEASES[votes]


def test_sums_of_models_are_a_release_of_their_own_every_round() -> None:
    names = {name.rpartition(".")[2] for name in released(registered(rounds=3, model_sums=True))}
    assert names == {"cast_votes", "sum_votes_by_model"}


def test_models_write_side_by_side() -> None:
    job = registered(rounds=3, plms={"a": "bundled:generator", "b": "bundled:generator", "c": None})
    writers = sorted(node.name for node in job.nodes if ".write_" in node.name and node.name.startswith("wasp."))
    assert [name for name in writers if "round" in name] == [
        f"wasp.round_0{t}.write_{name}" for t in (1, 2, 3) for name in "ab"
    ]
    assert {"plm_a", "plm_b"} <= job.inputs()


@pytest.mark.parametrize("env", [None, "tiny", "hub", "paper"])
def test_every_environment_builds_and_validates(env: str | None) -> None:
    job = registered(env)
    loader = ProjectConfigLoader.active
    assert loader is not None
    parameters = Wasp.model_validate(loader["parameters"]["wasp"])
    assert len(released(job)) == parameters.rounds - 1
    assert len({name for name in job.inputs() if name.startswith("plm_")}) == {"tiny": 2, "paper": 6}.get(env or "", 3)


def test_one_round_is_refused() -> None:
    with refuses("too-few-rounds", value=1):
        registered(rounds=1)
