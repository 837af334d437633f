"""T namespaced rounds."""

from __future__ import annotations

import time
import timeit
import warnings

import pytest
from kedro.pipeline import Pipeline, node

from fedtext.privacy.tags import Tag
from fedtext.wiring.unrolling import Namespace, round_dataset, round_namespace, unroll
from tests.refusals import refuses

CARRIED = {"state_before": "state", "adapter_before": "adapter"}
FIRST = {"state_before": "start_state", "adapter_before": "popri.start_adapter"}


def step(*inputs: object) -> object:
    return inputs


def one_round() -> Pipeline:
    return Pipeline(
        [
            node(step, ["state_before", "prompts", "params:popri"], "candidates", name="generate"),
            node(step, ["candidates", "encoder"], "embeddings", name="embed"),
            node(step, ["embeddings", "private_embeddings", "parameters"], "scores", name="score"),
            node(step, ["scores", "params:popri.preference"], "pairs", name="choose"),
            node(step, ["pairs", "adapter_before"], "adapter", name="train"),
            node(step, ["adapter", "state_before"], "state", name="close", tags="release"),
        ]
    )


def unrolled(rounds: int) -> Pipeline:
    return unroll(one_round, rounds=rounds, namespace="popri", carried=CARRIED, first=FIRST)


def test_rounds_hand_over_and_share() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = unrolled(3)
    nodes = {n.name: n for n in pipeline.nodes}
    assert len(nodes) == 18
    assert nodes["popri.round_01.generate"].inputs == ["start_state", "prompts", "params:popri"]
    assert nodes["popri.round_02.generate"].inputs == ["popri.round_01.state", "prompts", "params:popri"]
    assert nodes["popri.round_01.train"].inputs == ["popri.round_01.pairs", "popri.start_adapter"]
    assert nodes["popri.round_03.train"].inputs == ["popri.round_03.pairs", "popri.round_02.adapter"]
    assert nodes["popri.round_03.score"].inputs == ["popri.round_03.embeddings", "private_embeddings", "parameters"]
    assert nodes["popri.round_03.close"].tags == {"release"}
    assert pipeline.inputs() == {
        "start_state", "popri.start_adapter", "prompts", "encoder", "private_embeddings",
        "params:popri", "params:popri.preference", "parameters",
    }  # fmt: skip
    assert pipeline.outputs() == {"popri.round_03.state"}


def test_names_do_not_change_with_the_number_of_rounds() -> None:
    assert {n.name for n in unrolled(2).nodes} < {n.name for n in unrolled(101).nodes}
    assert round_namespace("popri", 3) == "popri.round_03"
    assert round_dataset("popri", 101, "state") == "popri.round_101.state"


def test_two_hundred_rounds_are_built_within_two_seconds() -> None:
    """Of one core, the least of three; timeit stops the collector, which looks through all that a worker's tests hold."""
    assert len(unrolled(200).nodes) == 1200
    assert min(timeit.repeat(lambda: unrolled(200), number=1, repeat=3, timer=time.process_time)) < 2


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"rounds": 0}, "no-round"),
        ({"first": {"state_before": "s"}}, "carried-differs-from-first"),
        ({"carried": {"stat": "state"}, "first": {"stat": "s"}}, "no-inputs-of-round"),
        (
            {"carried": {"state_before": "stat"}, "first": {"state_before": "s"}},
            "round-hands-on-nothing",
        ),
    ],
)
def test_mistakes_are_named(changes: dict[str, object], code: str) -> None:
    right = {"rounds": 2, "namespace": "popri", "carried": CARRIED, "first": FIRST}
    with refuses(code):
        unroll(one_round(), **{**right, **changes})  # type: ignore[arg-type]


def test_a_namespace_names_its_nodes_data_sets_and_rounds() -> None:
    place = Namespace("popri")
    made = place.node(step, ["params:popri"], place("start"), name="begin", tags=Tag.RELEASE)
    assert (made.name, made.outputs, set(made.tags)) == ("popri.begin", ["popri.start"], {Tag.RELEASE})
    assert place.rounds(3, "scores") == [place.round(t, "scores") for t in (1, 2, 3)]
    assert place.round(2, "scores") == round_dataset("popri", 2, "scores")
