"""From preference pairs to a policy: fine-tuning on the chosen answers, preference optimisation, or a reward."""

from collections.abc import Callable

from kedro.pipeline import Node

from fedtext.pipelines.dpprefsyn import policies as nodes
from fedtext.wiring.outputs import Outputs
from fedtext.wiring.unrolling import Namespace

DPPREFSYN, PARAMETERS = Namespace("dpprefsyn"), "params:dpprefsyn"
MADE = Outputs(DPPREFSYN.name)
TUNED = DPPREFSYN("sft.adapter")


def alignment(kind: str) -> list[Node]:
    """The nodes that `dpprefsyn.alignment` asks for; none of them reads private data."""
    made, given = [MADE.policy, MADE.training_log], ["generator", MADE.pairs, PARAMETERS]
    kinds: dict[str, Callable[[], list[Node]]] = {
        "none": list,
        "sft": lambda: [_node(nodes.tune_on_chosen, given, made)],
        "dpo": lambda: [_node(nodes.prefer, given, made)],
        "sft_dpo": lambda: [
            _node(nodes.tune_on_chosen, given, [TUNED, DPPREFSYN("sft.training_log")]),
            _node(nodes.prefer_after_tuning, [*given, TUNED], made),
        ],
        "rloo": lambda: [
            _node(
                nodes.reinforce,
                ["generator", "public_prompts", "encoder", MADE.scorers, "params:corpus.source", PARAMETERS],
                made,
            )
        ],
    }
    return kinds[kind]() if kind in kinds else []  # Kedro says what is wrong with the parameter


def _node(function: Callable[..., object], given: list[str], made: list[str]) -> Node:
    return DPPREFSYN.node(function, given, made, name=function.__name__)
