"""From preference pairs to a policy: fine-tuning on the chosen answers, preference optimisation, or a reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kedro.pipeline import Node

from fedtext.pipelines.dpprefsyn import policies as nodes
from fedtext.wiring.outputs import Outputs
from fedtext.wiring.unrolling import Namespace

DPPREFSYN, SOURCE, PARAMETERS = Namespace("dpprefsyn"), "params:corpus.source", "params:dpprefsyn"
MADE = Outputs(DPPREFSYN.name)


class Trained(NamedTuple):
    """The data sets of one policy.

    Attributes:
        pairs: What it is trained on.
        policy: The adapter.
        log: How its training went.
        stage: Names what lies between.
    """

    pairs: str
    policy: str
    log: str
    stage: str

    @classmethod
    def stage_of(cls, stage: str, pairs: str | None = None) -> Trained:
        """A control's: on pairs of its own, unless others are named."""
        adapter, log = DPPREFSYN(f"{stage}.adapter"), DPPREFSYN(f"{stage}.training_log")
        return cls(pairs or DPPREFSYN(f"{stage}.pairs"), adapter, log, stage)


OWN = Trained(MADE.pairs, MADE.policy, MADE.training_log, "sft")


def alignment(kind: str, of: Trained = OWN, place: Namespace = DPPREFSYN) -> list[Node]:
    """The nodes that `dpprefsyn.alignment` asks for; none of them reads private data."""
    made, given = [of.policy, of.log], ["generator", of.pairs, SOURCE, PARAMETERS]
    between = of.stage if of is OWN else f"{of.stage}_sft"
    tuned, tuning_log = DPPREFSYN(f"{between}.adapter"), DPPREFSYN(f"{between}.training_log")

    def node(function: Callable[..., object], inputs: list[str], outputs: list[str]) -> Node:
        name = function.__name__ if of is OWN else f"{function.__name__}_{of.stage}"
        return place.node(function, inputs, outputs, name=name)

    kinds: dict[str, Callable[[], list[Node]]] = {
        "none": list,
        "sft": lambda: [node(nodes.tune_on_chosen, given, made)],
        "dpo": lambda: [node(nodes.prefer, given, made)],
        "sft_dpo": lambda: [
            node(nodes.tune_on_chosen, given, [tuned, tuning_log]),
            node(nodes.prefer_after_tuning, [*given, tuned], made),
        ],
        "rloo": lambda: [
            node(
                nodes.reinforce,
                ["generator", "public_prompts", "encoder", MADE.scorers, SOURCE, PARAMETERS],
                made,
            )
        ],
    }
    return kinds[kind]() if kind in kinds else []  # Kedro says what is wrong with the parameter
