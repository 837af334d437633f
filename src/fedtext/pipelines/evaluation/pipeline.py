"""evaluation: one scorecard for any synthetic data set, whatever algorithm made it.

What reads held-out private text and still writes aggregates is tagged `held_out_evaluation`: only the report reads it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from kedro.pipeline import Node, Pipeline, node

from fedtext.config import active_parameters
from fedtext.params.popri import SINGLE_RELEASE
from fedtext.pipelines.evaluation import nodes

HELD_OUT = "held_out_evaluation"
NAME = "evaluation"
evaluation_node = partial(node, namespace=NAME)
held_out_node = partial(node, namespace=NAME, tags=HELD_OUT)


def create_pipeline(algorithm: str = "popri") -> Pipeline:
    """Judge `<algorithm>_synthetic` and its controls on the test clients."""
    synthetic = f"{algorithm}_synthetic"
    conditions: dict[str, tuple[Callable[..., Any], list[str]]] = {
        "eps0": (nodes.score_public_model, []),
        "public_control": (nodes.score_public_control, [synthetic, "public_samples"]),
        "untuned_control": (nodes.score_untuned_control, [synthetic, f"{algorithm}_untuned"]),
        "synthetic": (nodes.score_synthetic, [synthetic]),
        "private": (nodes.score_private_text, ["private_train"]),
    }
    if active_parameters()[algorithm]["scoring"] in SINGLE_RELEASE:
        conditions["matched_control"] = (nodes.score_matched_control, [synthetic, f"{algorithm}_matched_public"])
    counts = {name: f"private_{algorithm}_counts_{name}" for name in conditions}
    settings = ["params:chunking", "params:evaluation"]
    scored = [
        evaluation_node(
            function, ["on_device", "private_test", *settings, *texts], counts[name], name=function.__name__
        )
        for name, (function, texts) in conditions.items()
    ]
    compare = held_out_node(
        nodes.compare_accuracies,
        {"private_test": "private_test", "evaluation": "params:evaluation", **counts},
        f"{algorithm}_accuracy",
        name="compare_accuracies",
    )
    return Pipeline([*scored, compare, *_distances(algorithm)])


def _distances(algorithm: str) -> list[Node]:
    embeddings = [f"{algorithm}_round_embeddings", f"{algorithm}_synthetic_embeddings", "public_embeddings"]
    return [
        evaluation_node(
            nodes.embed_test_samples,
            ["private_test", "encoder", "params:evaluation"],
            "private_test_embeddings",
            name="embed_test_samples",
        ),
        held_out_node(
            nodes.measure_distances,
            ["private_test_embeddings", *embeddings, f"{algorithm}_rounds", "params:evaluation"],
            f"{algorithm}_distances",
            name="measure_distances",
        ),
        held_out_node(
            nodes.draw_embedding_maps,
            ["private_test_embeddings", "private_test", *embeddings, "params:evaluation"],
            [f"{algorithm}_rounds_map_figure", f"{algorithm}_sets_map_figure"],
            name="draw_embedding_maps",
        ),
        held_out_node(
            nodes.draw_client_tokens,
            "private_test",
            f"{algorithm}_tokens_figure",
            name="draw_client_tokens",
        ),
    ]
