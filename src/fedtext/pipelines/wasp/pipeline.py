"""wasp: several models write side by side, T unrolled rounds of votes and contrastive prompts, all texts at the end.

Every round but the last reads private data once, for similar and dissimilar votes, or one release before the first does
for all.

- Before the rounds private data are read by `votes: single_release` alone.
- The rounds are copies of one round's nodes. The last one writes without a vote, which would have no use.
- After the rounds come the synthetic data set and the rounds' figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kedro.pipeline import Node, Pipeline, node
from plotly.graph_objects import Figure

from fedtext.pipelines.outputs.pipeline import last_ledger, round_embeddings
from fedtext.pipelines.wasp import nodes
from fedtext.privacy.tags import Tag
from fedtext.system.errors import InputError
from fedtext.wiring.algorithm import Algorithm, Outputs, OutputType
from fedtext.wiring.generators import generator_inputs
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace, round_namespace, unroll

WASP = Namespace("wasp")
MADE = Outputs(WASP.name)
PARAMETERS, PRIVACY, CHUNKING = "params:wasp", "params:privacy", "params:chunking"
PRIVATE = ["private_embeddings", "private_enrolment", "private_noise_key"]
CLASS_MEANS = "wasp_class_means"


def setup_pipeline(models: Mapping[str, str], votes: str) -> Pipeline:
    """Create models, ledger and empty tables, and the class means if votes are computed from them."""
    return Pipeline([*_start(models), *([_class_means()] if votes == "single_release" else [])])


def _start(models: Mapping[str, str]) -> list[Node]:
    return [
        WASP.node(nodes.start_models, dict(models), WASP("state"), name="start_models"),
        WASP.node(
            nodes.open_wasp_ledger,
            ["population", WASP("state"), "encoder", PARAMETERS, PRIVACY],
            WASP("ledger_open"),
            name="open_wasp_ledger",
            tags=Tag.BUDGET,
        ),
        WASP.node(
            nodes.start_texts,
            "encoder",
            [WASP("candidates"), WASP("candidate_embeddings"), WASP("examples")],
            name="start_texts",
        ),
    ]


def _class_means() -> Node:
    return WASP.node(
        nodes.release_class_means,
        [*PRIVATE, WASP("ledger_open"), PARAMETERS],
        [CLASS_MEANS, MADE.ledger],
        name="release_class_means",
        tags=Tag.RELEASE,
    )


CARRIED = ("state", "examples", "candidates", "candidate_embeddings")
TEXTS = ["candidates", "candidate_embeddings"]


def rounds_pipeline(rounds: int, models: Mapping[str, str], judgement: str, model_sums: bool) -> Pipeline:
    """Create all rounds: every model writes; after each round but the last its texts are scored by `wasp.votes`."""
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
    """Create a node a model, side by side."""
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
    """Create scores of the texts, and the models' weights from them."""
    if judgement == "top_q":
        return _top_q(model_sums)
    if judgement == "none":
        reading = node(
            nodes.count_votes_unaccounted,
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
        nodes.cast_votes,
        [*PRIVATE, "ledger_before", *TEXTS, "state_before", PARAMETERS],
        ["scores", "votes_ledger" if model_sums else "ledger"],
        name="cast_votes",
        tags=Tag.RELEASE,
    )
    if not model_sums:
        return [voting, _weights("weigh_by_votes", ["scores", "ledger"])]
    adding = node(
        nodes.sum_votes_by_model,
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


FIGURES = ("models", "examples", "classes")


def final_pipeline(rounds: int, votes: str) -> Pipeline:
    """Create the nodes from the texts of all rounds to the synthetic data set."""
    texts = WASP.round(rounds, "candidates")
    collecting = WASP.node(
        nodes.collect_texts,
        [texts, WASP.round(rounds, "candidate_embeddings")],
        [MADE.synthetic, MADE.synthetic_embeddings],
        name="collect_texts",
    )
    ledgers = {"random": WASP("ledger_open")} | dict.fromkeys(("top_q", "none"), WASP.round(rounds - 1, "ledger"))
    handed = [last_ledger(WASP.name, ledgers[votes])] if votes in ledgers else []  # a single release hands its own over
    return Pipeline([collecting, *handed, *_records(rounds), *_figures(rounds)])


def _records(rounds: int) -> list[Node]:
    return [
        WASP.node(
            nodes.count_exchanged,
            [WASP("candidate_embeddings"), "population", PARAMETERS, PRIVACY],
            MADE.exchange,
            name="count_exchanged",
        ),
        WASP.node(nodes.report_rounds, PARAMETERS, MADE.rounds, name="report_rounds"),
        round_embeddings(WASP.name, WASP.rounds(rounds, "candidate_embeddings")),
    ]


def _figures(rounds: int) -> list[Node]:
    texts, examples = WASP.round(rounds, "candidates"), WASP.round(rounds - 1, "examples")
    told: dict[str, tuple[Callable[..., Figure], list[str]]] = {
        "models": (nodes.draw_models, [texts, WASP.round(rounds - 1, "state"), examples]),
        "examples": (nodes.draw_examples, [examples]),
        "classes": (nodes.draw_classes, [texts]),
    }
    return [
        WASP.node(draw, given, MADE.figure(name), name=f"draw_{name}", tags=Tag.REPORT)
        for name, (draw, given) in told.items()
    ]


def create_pipeline(settings: Settings) -> Pipeline:
    """Create WASP with the models, the votes and the rounds of the active parameters.

    Raises:
        ValueError: there are fewer than two rounds, so that no vote could change anything.
    """
    chosen, rounds = settings.group("wasp"), settings.rounds("wasp")
    if rounds < 2:
        raise InputError(
            f"wasp.rounds is {rounds}: a vote changes what is written after it, so take at least 2",
            code="too-few-rounds",
            parameter="wasp.rounds",
            value=rounds,
        )
    models, votes = generator_inputs(settings.generators), chosen["votes"]
    return Pipeline(
        [
            setup_pipeline(models, votes),
            rounds_pipeline(rounds, models, votes, chosen["model_sums"] in (True, "true")),
            final_pipeline(rounds, votes),
        ]
    )


ALGORITHM = Algorithm(
    name="wasp",
    title="WASP",
    paper="Zou et al., ICML 2025",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
    rounds=True,
    figures=FIGURES,
)
