"""evaluation: one scorecard for whatever an algorithm made, text or a model, in one of two forms.

The controls are trained and scored once for a data root, whatever is compared with them. Open: what reads held-out
private text and still writes aggregates is tagged `held_out_evaluation`, and test clients are not protected by it.
Priced: test clients say noised sums in declared releases (priced.py). In both only the report reads the figures.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.evaluation import priced
from fedtext.pipelines.evaluation.form import active_form
from fedtext.pipelines.evaluation.nodes import conditions, distances, held_out
from fedtext.privacy.tags import Tag

SETTINGS = ["params:chunking", "params:evaluation"]


def controls_pipeline() -> Pipeline:
    """What every algorithm is compared with, and the held-out samples' embeddings."""
    form = active_form()
    scored = partial(_scored, place="evaluation")
    controls = [
        node(
            conditions.generate_untuned_texts,
            ["generator", "public_samples", *SETTINGS],
            "untuned_texts",
            name="generate_untuned_texts",
            namespace="evaluation",
        ),
        node(
            distances.embed_test_samples,
            ["private_test_sample", "encoder"],
            "private_test_embeddings",
            name="embed_test_samples",
            namespace="evaluation",
        ),
        scored("public_model", conditions.score_public_model, [], "private_counts_eps0"),
        scored("public_control", conditions.score_texts, ["public_samples"], "private_counts_public_control"),
        scored("untuned_control", conditions.score_texts, ["untuned_texts"], "private_counts_untuned_control"),
    ]
    if form.private_control:
        score = conditions.score_private_text
        counts = "private_counts_private"
        controls.append(scored("private_text", score, ["private_train"], counts, tags=Tag.CONTROL))
    return Pipeline([*(priced.opening() if form.priced else [_drawn_samples()]), *controls])


def text_pipeline(algorithm: str, *, matched: bool = False) -> Pipeline:
    """Judge `<algorithm>_synthetic` on the test clients; `matched` adds the public texts that its release picks."""
    judged = {"synthetic": f"{algorithm}_synthetic"}
    if matched:
        judged["matched_control"] = f"{algorithm}_matched_public"
    counts = {name: f"private_{algorithm}_counts_{name}" for name in judged}
    place = f"evaluation.{algorithm}"
    scored = [_scored(name, conditions.score_texts, [judged[name]], counts[name], place) for name in judged]
    controls, form = _controls(), active_form()
    if form.priced:
        return Pipeline([*scored, *priced.of_texts(algorithm, controls | counts, judged)])
    return Pipeline([*scored, _comparison(algorithm, controls | counts), *_distances(algorithm)])


def model_pipeline(algorithm: str) -> Pipeline:
    """Judge `<algorithm>_model`, an on-device model trained on the private text itself."""
    counts = {"trained_model": f"private_{algorithm}_counts_trained_model"}
    scored = node(
        conditions.score_trained_model,
        [f"{algorithm}_model", "on_device", "private_test_sample", *SETTINGS],
        counts["trained_model"],
        name="score_trained_model",
        namespace=f"evaluation.{algorithm}",
    )
    controls = _controls()
    if active_form().priced:
        return Pipeline([scored, *priced.of_model(algorithm, controls | counts)])
    return Pipeline([scored, _comparison(algorithm, controls | counts)])


def _drawn_samples() -> Node:
    return node(
        held_out.draw_held_out_samples,
        ["private_test", "params:evaluation"],
        "private_test_sample",
        name="draw_held_out_samples",
        namespace="evaluation",
    )


def _controls() -> dict[str, str]:
    names = ["eps0", "public_control", "untuned_control", *(["private"] if active_form().private_control else [])]
    return {name: f"private_counts_{name}" for name in names}


def _scored(
    name: str,
    function: Callable[..., Any],
    texts: list[str],
    counts: str,
    place: str,
    tags: Tag | None = None,
) -> Node:
    """Train the on-device model on some texts and count what it gets right in held-out text."""
    inputs = ["on_device", "private_test_sample", *SETTINGS, *texts]
    return node(function, inputs, counts, name=f"score_{name}", namespace=place, tags=tags)


def _comparison(algorithm: str, counts: dict[str, str]) -> Node:
    return node(
        conditions.compare_accuracies,
        {"private_test_sample": "private_test_sample", **counts},
        f"{algorithm}_accuracy",
        name="compare_accuracies",
        namespace=f"evaluation.{algorithm}",
        tags=Tag.HELD_OUT,
    )


def _distances(algorithm: str) -> list[Node]:
    embeddings = [f"{algorithm}_round_embeddings", f"{algorithm}_synthetic_embeddings", "public_embeddings"]
    held_out_node = partial(node, namespace=f"evaluation.{algorithm}", tags=Tag.HELD_OUT)
    return [
        held_out_node(
            distances.measure_distances,
            ["private_test_embeddings", *embeddings, f"{algorithm}_rounds", "params:evaluation"],
            f"{algorithm}_distances",
            name="measure_distances",
        ),
        held_out_node(
            distances.draw_embedding_maps,
            ["private_test_embeddings", "private_test_sample", *embeddings],
            [f"{algorithm}_rounds_map_figure", f"{algorithm}_sets_map_figure"],
            name="draw_embedding_maps",
        ),
        held_out_node(
            distances.draw_client_tokens,
            "private_test",
            f"{algorithm}_tokens_figure",
            name="draw_client_tokens",
        ),
    ]
