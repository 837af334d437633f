"""Win rates of an algorithm's policies, and membership inference on its own one.

Prompts are public and answers released, so a judge may be a server, and figures have no privacy cost; except for the
reward model, which learns from validation clients' pairs in a declared held-out evaluation. Membership reads protected
pairs, as a declared baseline.
"""

from collections.abc import Callable

from kedro.pipeline import Node

from fedtext.params.conditions import UNTUNED
from fedtext.pipelines.evaluation.form import active_policies
from fedtext.pipelines.evaluation.nodes import preferences as nodes
from fedtext.pipelines.pairs.pipeline import SHARPNESS, TEST, TRAIN, VALIDATION
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.unrolling import Namespace

PARAMETERS, SOURCE = "params:policies", "params:corpus.source"


def of_policies(algorithm: Algorithm) -> list[Node]:
    """Create the evaluation of policies; empty if the algorithm has none, or no judge is declared."""
    if not algorithm.policies():
        return []
    form = active_policies()
    return [*(_win_rates(algorithm) if form.judge else []), *(_membership(algorithm) if form.membership else [])]


def _win_rates(algorithm: Algorithm) -> list[Node]:
    made, place = algorithm.outputs, Namespace(f"evaluation.{algorithm.name}")
    trained = ["public_prompts"] if algorithm.makes is OutputType.PREFERENCES else []
    answers = {one.condition: made.answers(one.condition) for one in algorithm.policies()}
    untuned = made.answers(UNTUNED.name)
    asking = place.node(
        nodes.hold_out_prompts,
        ["params:corpus", PARAMETERS, *trained],
        made.held_out_prompts,
        name="hold_out_prompts",
        tags=Tag.READS_PACKAGES,
    )
    written = [
        place.node(
            nodes.write_answers,
            ["generator", one.made, made.held_out_prompts, SOURCE, PARAMETERS],
            answers[one.condition],
            name=f"write_answers_{one.condition}",
        )
        for one in algorithm.policies()
    ]
    as_it_was = place.node(
        nodes.write_untuned_answers,
        ["generator", made.held_out_prompts, SOURCE, PARAMETERS],
        untuned,
        name="write_untuned_answers",
    )
    return [asking, *written, as_it_was, _judging(algorithm, {**answers, UNTUNED.name: untuned})]


def _judging(algorithm: Algorithm, answers: dict[str, str]) -> Node:
    judges: dict[str, tuple[Callable[..., object], dict[str, str]]] = {
        "rule": (nodes.judge_by_rule, {"decided": SHARPNESS}),
        "reward": (nodes.judge_by_reward, {"private_validation": VALIDATION, "private_test": TEST}),
        "model": (nodes.judge_by_model, {"judge": "judge", "policies": PARAMETERS}),
    }
    made, (function, given) = algorithm.outputs, judges[str(active_policies().judge)]
    return Namespace(f"evaluation.{algorithm.name}").node(
        function,
        {**given, "prompts": made.held_out_prompts, **answers},
        made.win_rates,
        name=function.__name__,
        tags=Tag.HELD_OUT,
    )


def _membership(algorithm: Algorithm) -> list[Node]:
    made, place = algorithm.outputs, Namespace(f"evaluation.{algorithm.name}")
    own, *_ = algorithm.policies()
    return [
        place.node(
            nodes.score_membership,
            [TRAIN, TEST, "generator", own.made, SOURCE, PARAMETERS, "params:privacy"],
            made.margins,
            name="score_membership",
            tags=Tag.CONTROL,
        ),
        place.node(
            nodes.infer_membership,
            [made.margins, made.privacy_report],
            made.membership,
            name="infer_membership",
            tags=Tag.HELD_OUT,
        ),
    ]
