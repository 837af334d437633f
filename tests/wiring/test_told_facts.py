"""A report tells of the nodes that made its inputs, and not of the parameters of whoever writes the report."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from kedro.framework.project import settings

from tests.refusals import refuses
from tests.wiring.conftest import ToyProject


def told(toy: ToyProject) -> Any:
    return json.loads((toy.data / "08_reporting" / "facts.json").read_text())["facts"]


def run(toy: ToyProject, chosen: dict[str, Any], /, env: str | None = None, **params: Any) -> None:
    (toy.data / "08_reporting" / "facts.json").unlink(missing_ok=True)
    with settings.SESSION_CLASS.create(project_path=toy.path, env=env, runtime_params=params) as session:
        session.run(pipeline_names=["__default__", "told"], **chosen)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "chosen",
    [{"from_nodes": ["tell"]}, {"node_names": ["tell"]}, {"tags": ["report"]}],
    ids=str,
)
def test_a_part_of_a_run_tells_the_facts_of_what_it_reads(toy: ToyProject, chosen: dict[str, Any]) -> None:
    run(toy, {}, privacy={"epsilon": 4.0})
    whole = told(toy)
    assert whole["parameters"]["privacy"]["epsilon"] == 4.0
    run(toy, chosen, env="paper", privacy={"epsilon": 1.0, "delta": 1e-5})
    part = told(toy)
    assert part["parameters"] == whole["parameters"]
    assert part["unrecorded"] == []
    assert "privacy.epsilon=1.0" in part["command"], "of the run that wrote it"


def test_what_was_made_anew_at_another_value_is_told_with_it(toy: ToyProject) -> None:
    run(toy, {}, privacy={"epsilon": 4.0})
    run(toy, {}, privacy={"epsilon": 2.0})
    assert told(toy)["parameters"]["privacy"]["epsilon"] == 2.0


def test_lost_records_are_said_to_be_lost(toy: ToyProject) -> None:
    run(toy, {})
    shutil.rmtree(toy.data / ".fedtext" / "nodes")
    run(toy, {"from_nodes": ["tell"]})
    assert told(toy)["unrecorded"] == ["toy_report"]
    assert "privacy" not in told(toy)["parameters"]


def test_parts_of_two_runs_are_not_reported_as_one(toy: ToyProject) -> None:
    run(toy, {}, toy={"draws": 5})
    more = {"draws": 6}
    run(toy, {"to_nodes": ["toy.round_02.score"]}, toy=more)
    last = ["toy.round_02.close", "toy.report", "tell"]
    with refuses("report-of-two-runs", parameter="toy.draws"):
        run(toy, {"node_names": last}, toy=more)
    run(toy, {}, toy=more)
    assert told(toy)["unrecorded"] == []
