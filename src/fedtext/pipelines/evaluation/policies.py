"""Win rates of an algorithm's policies, and membership inference on its own one.

Prompts are public and answers released, so a judge may be a server, and figures have no privacy cost; except for the
reward model, which learns from validation clients' pairs in a declared held-out evaluation. Membership reads protected
pairs, as a declared baseline.
"""

from collections.abc import Callable, Sequence

from kedro.pipeline import Node

from fedtext.params.conditions import UNTUNED
from fedtext.params.policies import JudgeKind
from fedtext.pipelines.evaluation.nodes import preferences as nodes
from fedtext.pipelines.pairs.pipeline import SHARPNESS, TEST, TRAIN, VALIDATION
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, Control, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

PARAMETERS, SOURCE = "params:policies", "params:corpus.source"


def of_policies(algorithm: Algorithm, settings: Settings) -> list[Node]:
    """Create the evaluation of policies; empty if the algorithm has none, or no judge is declared."""
    if not (policies := algorithm.policies(settings)):
        return []
    form = settings.policies
    rates = _win_rates(algorithm, policies, form.judge) if form.judge else []
    return [*rates, *(_membership(algorithm, policies[0]) if form.membership else [])]


def _win_rates(algorithm: Algorithm, policies: Sequence[Control], judge: JudgeKind) -> list[Node]:
    made, place = algorithm.outputs, Namespace(f"evaluation.{algorithm.name}")
    trained = ["public_prompts"] if algorithm.makes is OutputType.PREFERENCES else []
    answers = {one.condition: made.answers(one.condition) for one in policies}
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
            ["downstream", one.made, made.held_out_prompts, SOURCE, PARAMETERS],
            answers[one.condition],
            name=f"write_answers_{one.condition}",
        )
        for one in policies
    ]
    as_it_was = place.node(
        nodes.write_untuned_answers,
        ["downstream", made.held_out_prompts, SOURCE, PARAMETERS],
        untuned,
        name="write_untuned_answers",
    )
    return [asking, *written, as_it_was, _judging(algorithm, {**answers, UNTUNED.name: untuned}, judge)]


def _judging(algorithm: Algorithm, answers: dict[str, str], judge: JudgeKind) -> Node:
    judges: dict[str, tuple[Callable[..., object], dict[str, str]]] = {
        "rule": (nodes.judge_by_rule, {"decided": SHARPNESS}),
        "reward": (nodes.judge_by_reward, {"private_validation": VALIDATION, "private_test": TEST}),
        "model": (nodes.judge_by_model, {"judge": "judge", "policies": PARAMETERS}),
    }
    made, (function, given) = algorithm.outputs, judges[str(judge)]
    return Namespace(f"evaluation.{algorithm.name}").node(
        function,
        {**given, "prompts": made.held_out_prompts, **answers},
        made.win_rates,
        name=function.__name__,
        tags=Tag.HELD_OUT,
    )


def _membership(algorithm: Algorithm, own: Control) -> list[Node]:
    made, place = algorithm.outputs, Namespace(f"evaluation.{algorithm.name}")
    return [
        place.node(
            nodes.score_membership,
            [TRAIN, TEST, "downstream", own.made, SOURCE, PARAMETERS, "params:privacy"],
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
