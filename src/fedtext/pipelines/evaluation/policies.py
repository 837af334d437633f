"""Win rates of an algorithm's policies, and membership inference on its own one.

Prompts are public, or those of a corpus that is declared public, and answers released. So a judge may be a server, and
figures have no privacy cost; except for the reward model, which learns from validation clients' pairs in a declared
held-out evaluation. Membership reads protected pairs, as a declared baseline.
"""

from collections.abc import Callable, Mapping, Sequence

from kedro.pipeline import Node

from fedtext.params.conditions import UNTUNED
from fedtext.params.policies import JudgeKind
from fedtext.pipelines.evaluation.nodes import preferences as nodes
from fedtext.pipelines.pairs.pipeline import SHARPNESS, SHOWN, TEST, TRAIN, VALIDATION
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, Control, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

PARAMETERS, SOURCE, CORPUS, PRIVACY = "params:policies", "params:corpus.source", "params:corpus", "params:privacy"
PEOPLE = "_against_people"  # ends the names of nodes that have a twin for public prompts


def of_policies(algorithm: Algorithm, settings: Settings) -> list[Node]:
    """Create the evaluation of policies; empty if the algorithm has none, or no judge is declared."""
    if not (policies := algorithm.policies(settings)):
        return []
    form = settings.policies
    made = _win_rates(algorithm, policies, form.judge) if form.judge else []
    if form.judge and form.against_people:
        made += _against_people(algorithm, policies, form.judge, settings.group("corpus")["source"])
    return [*made, *(_membership(algorithm, policies[0]) if form.membership else [])]


def _win_rates(algorithm: Algorithm, policies: Sequence[Control], judge: JudgeKind) -> list[Node]:
    made = algorithm.outputs
    trained = ["public_prompts"] if algorithm.makes is OutputType.PREFERENCES else []
    asking = _place(algorithm).node(
        nodes.hold_out_prompts,
        [CORPUS, PARAMETERS, *trained],
        made.held_out_prompts,
        name="hold_out_prompts",
        tags=Tag.READS_PACKAGES,
    )
    answers = {one: made.answers(one) for one in _answering(policies)}
    written = _answers(algorithm, policies, made.held_out_prompts, answers)
    return [asking, *written, _judging(algorithm, made.held_out_prompts, answers, judge, made.win_rates)]


def _against_people(algorithm: Algorithm, policies: Sequence[Control], judge: JudgeKind, source: str) -> list[Node]:
    """Create win rates against the answers that people chose; the corpus is public, so its test pairs are public text.

    They are made once more from public values, so that no private data set is read and a judge may be a server.
    """
    made, made_up = algorithm.outputs, source == "docstrings"
    given = [SHOWN, SHARPNESS, CORPUS, PRIVACY, "params:annotation"] if made_up else [CORPUS, PRIVACY]
    function = nodes.ask_for_test_prompts if made_up else nodes.read_test_prompts
    asking = _place(algorithm).node(
        function, [*given, "params:partition", PARAMETERS], made.test_prompts, name=function.__name__
    )
    answers = {one: made.test_answers(one) for one in _answering(policies)}
    written = _answers(algorithm, policies, made.test_prompts, answers, PEOPLE)
    return [asking, *written, _judging(algorithm, made.test_prompts, answers, judge, made.people, PEOPLE)]


def _answering(policies: Sequence[Control]) -> list[str]:
    """Return the conditions that answer prompts: every policy, and the model as it was."""
    return [*(one.condition for one in policies), UNTUNED.name]


def _answers(
    algorithm: Algorithm, policies: Sequence[Control], prompts: str, answers: Mapping[str, str], end: str = ""
) -> list[Node]:
    place = _place(algorithm)
    written = [
        place.node(
            nodes.write_answers,
            ["downstream", one.made, prompts, SOURCE, PARAMETERS],
            answers[one.condition],
            name=f"write_answers_{one.condition}{end}",
        )
        for one in policies
    ]
    as_it_was = place.node(
        nodes.write_untuned_answers,
        ["downstream", prompts, SOURCE, PARAMETERS],
        answers[UNTUNED.name],
        name=f"write_untuned_answers{end}",
    )
    return [*written, as_it_was]


def _judging(
    algorithm: Algorithm, prompts: str, answers: Mapping[str, str], judge: JudgeKind, found: str, end: str = ""
) -> Node:
    judges: dict[str, tuple[Callable[..., object], dict[str, str]]] = {
        "rule": (nodes.judge_by_rule, {"decided": SHARPNESS}),
        "reward": (nodes.judge_by_reward, {"private_validation": VALIDATION, "private_test": TEST}),
        "model": (nodes.judge_by_model, {"judge": "judge", "source": SOURCE, "policies": PARAMETERS}),
    }
    function, given = judges[str(judge)]
    return _place(algorithm).node(
        function,
        {**given, "prompts": prompts, **answers},
        found,
        name=f"{function.__name__}{end}",
        tags=Tag.HELD_OUT,
    )


def _place(algorithm: Algorithm) -> Namespace:
    return Namespace(f"evaluation.{algorithm.name}")


def _membership(algorithm: Algorithm, own: Control) -> list[Node]:
    made, place = algorithm.outputs, _place(algorithm)
    return [
        place.node(
            nodes.score_membership,
            [TRAIN, TEST, "downstream", own.made, SOURCE, PARAMETERS, PRIVACY],
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
