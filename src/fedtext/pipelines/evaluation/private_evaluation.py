"""DP evaluation: a ledger of the test clients, two releases or more, and the figures computed from them.

The ledger passes from release to release: mean features, the downstream tasks if declared, then an algorithm's
accuracies. A second algorithm of the data root queries the same features: the same noisy sum leaves, and costs nothing
more. A model has no texts to compare with them, so it skips the first release.
"""

from collections.abc import Mapping

from kedro.pipeline import Node

from fedtext.evaluation.tasks.task import DownstreamTask
from fedtext.pipelines.evaluation.nodes import conditions as figures
from fedtext.pipelines.evaluation.nodes import held_out
from fedtext.pipelines.evaluation.nodes import private_evaluation as nodes
from fedtext.privacy.tags import Tag
from fedtext.system.errors import InputError
from fedtext.wiring.algorithm import Algorithm
from fedtext.wiring.pipeline_settings import EvaluationVariant
from fedtext.wiring.unrolling import Namespace

GUESS, EVALUATION, PRIVACY = "evaluation_guess", "params:evaluation", "params:privacy"


def opening() -> list[Node]:
    """Create each test client's samples, and the public guess of the accuracy to come."""
    return [
        Namespace("evaluation").node(
            held_out.choose_own_samples,
            ["private_test", "population", EVALUATION, PRIVACY],
            "private_test_sample",
            name="choose_own_samples",
        ),
        Namespace("evaluation").node(
            nodes.guess_accuracy,
            ["on_device", "public_samples", "params:chunking", EVALUATION],
            GUESS,
            name="guess_accuracy",
        ),
    ]


def of_texts(
    algorithm: Algorithm,
    variant: EvaluationVariant,
    counts: dict[str, str],
    judged: dict[str, str],
    scores: Mapping[DownstreamTask, dict[str, str]],
) -> list[Node]:
    """Create all releases, and the accuracies, distances and maps of an algorithm that makes text.

    `scores` are the data sets of each downstream task's scores, by condition.
    """
    made, place, made_from = algorithm.outputs, _place(algorithm), {**variant.public_controls, **judged}
    charged, held = place("ledger"), ["private_test_sample", "private_test_embeddings", "public_embeddings"]
    sets = {"synthetic_embeddings": made.synthetic_embeddings, "public_embeddings": "public_embeddings"}
    rounds = {"round_embeddings": made.round_embeddings} if algorithm.rounds else {}
    measured = {"total": made.test_features, "ledger": charged, **sets, "evaluation": EVALUATION, **rounds}
    drawn = [place.node(figures.draw_public_sets_map, sets, made.figure("sets_map"), name="draw_public_sets_map")]
    if algorithm.rounds:
        measured["rounds"] = made.rounds
        on_public = {**rounds, "public_embeddings": "public_embeddings"}
        map_name = made.figure("rounds_map")
        drawn.append(place.node(figures.draw_public_rounds_map, on_public, map_name, name="draw_public_rounds_map"))
    made_from, ledger, released = {**variant.public_controls, **judged}, charged, list[Node]()
    for task, own in scores.items():
        released += _downstream(task, algorithm, own, made_from, ledger)
        ledger = _charged(task, place)
    return [
        _opened(algorithm, len(counts), tasks=list(scores), features=True),
        place.node(
            nodes.release_test_features,
            [*held, "private_noise_key", place("ledger_open"), EVALUATION],
            [made.test_features, charged],
            name="release_test_features",
            tags=Tag.RELEASE,
        ),
        *released,
        *_accuracies(algorithm, counts, made_from, ledger),
        place.node(
            nodes.measure_released_distances,
            measured,
            made.distances,
            name="measure_released_distances",
            tags=Tag.HELD_OUT,
        ),
        *drawn,
    ]


def of_model(algorithm: Algorithm, variant: EvaluationVariant, counts: dict[str, str]) -> list[Node]:
    """Create the release and the accuracies of an algorithm that makes a model."""
    made_from = {**variant.public_controls, "trained_model": algorithm.outputs.model}
    opened = _opened(algorithm, len(counts), tasks=[], features=False)
    return [opened, *_accuracies(algorithm, counts, made_from, _place(algorithm)("ledger_open"))]


def _place(algorithm: Algorithm) -> Namespace:
    return Namespace(f"evaluation.{algorithm.name}")


def _opened(algorithm: Algorithm, conditions: int, tasks: list[DownstreamTask], features: bool) -> Node:
    place, given = _place(algorithm), {"population": "population", "evaluation": EVALUATION, "privacy": PRIVACY}
    given |= {task.name: f"params:{task.group}" for task in tasks}
    return place.node(
        nodes.ledger_opener(algorithm.name, conditions),
        given | ({"encoder": "encoder"} if features else {}),
        place("ledger_open"),
        name="open_evaluation_ledger",
        tags=Tag.BUDGET,
    )


def _charged(task: DownstreamTask, place: Namespace) -> str:
    return place(f"ledger_{task.name}")


def _downstream(
    task: DownstreamTask, algorithm: Algorithm, scores: dict[str, str], made_from: dict[str, str], ledger: str
) -> list[Node]:
    """Create a downstream task's release, and the comparison that is computed from it."""
    if task.private is None:
        raise InputError(
            f"{task.group}: {task.name} has no release under DP evaluation: set evaluation.dp=false",
            code="task-without-release",
            parameter=task.group,
        )
    made, place, charged = algorithm.outputs, _place(algorithm), _charged(task, _place(algorithm))
    release, compare = task.private
    sums, document = made.downstream_sums(task.name), made.downstream(task.name)
    return [
        place.node(
            release.function,
            {**release.inputs, "ledger": ledger, **scores},
            [sums, charged],
            name=release.function.__name__,
            tags=Tag.RELEASE,
        ),
        place.node(
            compare.function,
            {**compare.inputs, "sums": sums, "ledger": charged, **made_from},
            document,
            name=compare.function.__name__,
            tags=Tag.HELD_OUT,
        ),
    ]


def _accuracies(algorithm: Algorithm, counts: dict[str, str], made_from: dict[str, str], ledger: str) -> list[Node]:
    made, place = algorithm.outputs, _place(algorithm)
    charged = place("ledger_final")
    asked = {"private_test_sample": "private_test_sample", "private_noise_key": "private_noise_key"}
    compared = {"sums": made.accuracy_sums, "ledger": charged, "guess": GUESS, "evaluation": EVALUATION}
    return [
        place.node(
            nodes.release_accuracy,
            {**asked, "guess": GUESS, "ledger": ledger, "evaluation": EVALUATION, **counts},
            [made.accuracy_sums, charged],
            name="release_accuracy",
            tags=Tag.RELEASE,
        ),
        place.node(
            nodes.compare_released_accuracies,
            {**compared, "corpus": "params:corpus", **made_from},
            made.accuracy,
            name="compare_released_accuracies",
            tags=Tag.HELD_OUT,
        ),
        place.node(
            nodes.report_evaluation_privacy,
            [charged, "release_history", "params:corpus", PRIVACY],
            made.evaluation_privacy_report,
            name="report_evaluation_privacy",
        ),
    ]
