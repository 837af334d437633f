"""The priced form: a ledger of the test clients, two releases, and what is made of them.

The ledger goes from release to release: mean features, then an algorithm's accuracies. A second algorithm of the data
root asks for the same features: the same noised sum leaves, and costs nothing more. A model has no texts to place among
them, so it skips the first.
"""

from functools import partial

from kedro.pipeline import Node, node

from fedtext.evaluation.tested import FEATURES, accuracy_release
from fedtext.pipelines.evaluation.nodes import conditions, held_out
from fedtext.pipelines.evaluation.nodes import priced as nodes
from fedtext.privacy.tags import Tag

GUESS, EVALUATION, PRIVACY = "evaluation_guess", "params:evaluation", "params:privacy"
TEXTS = {"public_control": "public_samples", "untuned_control": "untuned_texts"}
evaluation_node = partial(node, namespace="evaluation")


def opening() -> list[Node]:
    """Each test client's samples, and the public guess of the accuracy to come."""
    return [
        evaluation_node(
            held_out.choose_own_samples,
            ["private_test", "population", EVALUATION, PRIVACY],
            "private_test_sample",
            name="choose_own_samples",
        ),
        evaluation_node(
            conditions.guess_accuracy,
            ["on_device", "public_samples", "params:chunking", EVALUATION],
            GUESS,
            name="guess_accuracy",
        ),
    ]


def of_texts(algorithm: str, counts: dict[str, str], judged: dict[str, str]) -> list[Node]:
    """Both releases, and the accuracies, distances and maps of an algorithm that makes text."""
    place = partial(node, namespace=f"evaluation.{algorithm}")
    charged, released = f"evaluation.{algorithm}.ledger", f"{algorithm}_test_features"
    embeddings = [f"{algorithm}_round_embeddings", f"{algorithm}_synthetic_embeddings", "public_embeddings"]
    held = ["private_test_sample", "private_test_embeddings", "public_embeddings", "private_noise_key"]
    return [
        _opened(algorithm, FEATURES, accuracy_release(algorithm)),
        place(
            nodes.release_test_features,
            [*held, _open(algorithm), EVALUATION],
            [released, charged],
            name="release_test_features",
            tags=Tag.RELEASE,
        ),
        *_accuracies(algorithm, counts, {**TEXTS, **judged}, charged),
        place(
            nodes.measure_released_distances,
            [released, charged, *embeddings, f"{algorithm}_rounds", EVALUATION],
            f"{algorithm}_distances",
            name="measure_released_distances",
            tags=Tag.HELD_OUT,
        ),
        place(
            nodes.draw_public_maps,
            embeddings,
            [f"{algorithm}_rounds_map_figure", f"{algorithm}_sets_map_figure"],
            name="draw_public_maps",
        ),
    ]


def of_model(algorithm: str, counts: dict[str, str]) -> list[Node]:
    """The release and the accuracies of an algorithm that makes a model."""
    made_from = {**TEXTS, "trained_model": f"{algorithm}_model"}
    opened = _opened(algorithm, accuracy_release(algorithm))
    return [opened, *_accuracies(algorithm, counts, made_from, _open(algorithm))]


def _open(algorithm: str) -> str:
    return f"evaluation.{algorithm}.ledger_open"


def _opened(algorithm: str, *planned: str) -> Node:
    return node(
        nodes.ledger_opener(*planned),
        ["population", EVALUATION, PRIVACY],
        _open(algorithm),
        name="open_evaluation_ledger",
        namespace=f"evaluation.{algorithm}",
        tags=Tag.BUDGET,
    )


def _accuracies(algorithm: str, counts: dict[str, str], made_from: dict[str, str], ledger: str) -> list[Node]:
    place = partial(node, namespace=f"evaluation.{algorithm}")
    sums, charged = f"{algorithm}_accuracy_sums", f"evaluation.{algorithm}.ledger_final"
    asked = {"private_test_sample": "private_test_sample", "private_noise_key": "private_noise_key"}
    return [
        place(
            nodes.release_accuracy,
            {**asked, "guess": GUESS, "ledger": ledger, "evaluation": EVALUATION, **counts},
            [sums, charged],
            name="release_accuracy",
            tags=Tag.RELEASE,
        ),
        place(
            nodes.compare_released_accuracies,
            {
                "sums": sums,
                "ledger": charged,
                "guess": GUESS,
                "evaluation": EVALUATION,
                "corpus": "params:corpus",
                **made_from,
            },
            f"{algorithm}_accuracy",
            name="compare_released_accuracies",
            tags=Tag.HELD_OUT,
        ),
        place(
            nodes.report_evaluation_privacy,
            [charged, "release_history"],
            f"{algorithm}_evaluation_privacy_report",
            name="report_evaluation_privacy",
        ),
    ]
