"""What happens once, after the rounds: the synthetic data set, and what is handed over of the rounds."""

from collections.abc import Callable

from kedro.pipeline import Node, Pipeline
from plotly.graph_objects import Figure

from fedtext.pipelines.handover.pipeline import last_ledger, round_embeddings
from fedtext.pipelines.wasp.nodes import figures
from fedtext.pipelines.wasp.nodes import final as nodes
from fedtext.pipelines.wasp.setup import MADE, PARAMETERS, PRIVACY, WASP
from fedtext.privacy.tags import Tag

FIGURES = ("models", "examples", "classes")


def final_pipeline(rounds: int, votes: str) -> Pipeline:
    """From the texts of all rounds to the synthetic data set."""
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
        "models": (figures.draw_models, [texts, WASP.round(rounds - 1, "state"), examples]),
        "examples": (figures.draw_examples, [examples]),
        "classes": (figures.draw_classes, [texts]),
    }
    return [
        WASP.node(draw, given, MADE.figure(name), name=f"draw_{name}", tags=Tag.REPORT)
        for name, (draw, given) in told.items()
    ]
