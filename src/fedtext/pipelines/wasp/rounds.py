"""The rounds: one round's nodes, unrolled. The last one writes and is not judged: nothing would be made of that."""

from collections.abc import Mapping

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.wasp.nodes import rounds as nodes
from fedtext.pipelines.wasp.nodes import votes
from fedtext.pipelines.wasp.setup import CHUNKING, CLASS_MEANS, PARAMETERS, PRIVATE, WASP
from fedtext.privacy.tags import Tag
from fedtext.wiring.unrolling import round_namespace, unroll

CARRIED = ("state", "examples", "candidates", "candidate_embeddings")
TEXTS = ["candidates", "candidate_embeddings"]


def rounds_pipeline(rounds: int, models: Mapping[str, str], judgement: str, model_sums: bool) -> Pipeline:
    """All rounds: every model writes; after each round but the last its texts are judged as `wasp.votes` says."""
    charged = judgement in ("top_q", "none")
    carried = {f"{name}_before": name for name in (*CARRIED, *(["ledger"] if charged else []))}
    first = {before: WASP("ledger_open" if name == "ledger" else name) for before, name in carried.items()}
    judged = Pipeline([*_writing(models), *_judging(judgement, model_sums), _examples()])
    unrolled = unroll(judged, rounds=rounds - 1, namespace=WASP.name, carried=carried, first=first)
    return unrolled + _last(rounds, models)


def _last(rounds: int, models: Mapping[str, str]) -> Pipeline:
    writing = Pipeline(_writing(models))
    before = {f"{name}_before": WASP.round(rounds - 1, name) for name in CARRIED}
    shared = {name: name for name in ("encoder", *models.values())}
    parameters = {name for name in writing.inputs() if name.startswith("params:")}
    return Pipeline(
        writing, inputs=shared | before, parameters=parameters, namespace=round_namespace(WASP.name, rounds)
    )


def _writing(models: Mapping[str, str]) -> list[Node]:
    """A node a model, side by side."""
    asked = ["state_before", "examples_before", PARAMETERS, CHUNKING]
    return [
        *(
            node(nodes.writer(name), [entry, *asked], f"texts_{name}", name=f"write_{name}")
            for name, entry in models.items()
        ),
        node(
            nodes.gather_texts,
            ["candidates_before", *(f"texts_{name}" for name in models)],
            "candidates",
            name="gather_texts",
        ),
        node(
            nodes.embed_new_texts,
            ["candidates", "candidate_embeddings_before", "encoder"],
            "candidate_embeddings",
            name="embed_new_texts",
        ),
    ]


def _judging(judgement: str, model_sums: bool) -> list[Node]:
    """Scores of the texts, and the models' weights that follow from them."""
    if judgement == "top_q":
        return _top_q(model_sums)
    if judgement == "none":
        reading = node(
            votes.count_votes_unaccounted,
            [*PRIVATE[:2], "ledger_before", *TEXTS, "state_before", PARAMETERS],
            ["scores", "ledger"],
            name="count_votes_unaccounted",
            tags=Tag.RELEASE,
        )
        return [reading, _weights("weigh_by_votes", ["scores", "ledger"])]
    if judgement == "single_release":
        scoring = node(
            nodes.score_by_means, [CLASS_MEANS, *TEXTS, PARAMETERS], "scores", name="score_by_means"
        )  # fmt: skip
    else:
        scoring = node(nodes.draw_scores, ["candidates", "state_before", PARAMETERS], "scores", name="draw_scores")
    return [scoring, _weights("weigh_by_best", ["scores"])]


def _top_q(model_sums: bool) -> list[Node]:
    voting = node(
        votes.cast_votes,
        [*PRIVATE, "ledger_before", *TEXTS, "state_before", PARAMETERS],
        ["scores", "votes_ledger" if model_sums else "ledger"],
        name="cast_votes",
        tags=Tag.RELEASE,
    )
    if not model_sums:
        return [voting, _weights("weigh_by_votes", ["scores", "ledger"])]
    adding = node(
        votes.sum_votes_by_model,
        [*PRIVATE, "votes_ledger", *TEXTS, "state_before", PARAMETERS],
        ["model_sums", "ledger"],
        name="sum_votes_by_model",
        tags=Tag.RELEASE,
    )
    return [voting, adding, _weights("weigh_by_sums", ["model_sums", "ledger"])]


def _weights(name: str, released: list[str]) -> Node:
    return node(getattr(nodes, name), ["candidates", *released, "state_before", PARAMETERS], "state", name=name)


def _examples() -> Node:
    return node(
        nodes.choose_examples, ["candidates", "scores", PARAMETERS], "examples", name="choose_examples"
    )  # fmt: skip
