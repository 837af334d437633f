"""What happens once, before the rounds; private data are read here by `votes: single_release` alone."""

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.wasp.nodes import setup as nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.generators import generator_inputs
from fedtext.wiring.outputs import Outputs
from fedtext.wiring.unrolling import Namespace

WASP = Namespace("wasp")
MADE = Outputs(WASP.name)
PARAMETERS, PRIVACY, CHUNKING = "params:wasp", "params:privacy", "params:chunking"
PRIVATE = ["private_embeddings", "private_enrolment", "private_noise_key"]
CLASS_MEANS = "wasp_class_means"


def models() -> dict[str, str]:
    """The models by name, each with its catalog entry: those of `models.plms`, or the one generator if none is."""
    return generator_inputs() or {"generator": "generator"}


def setup_pipeline(votes: str) -> Pipeline:
    """Models, ledger and empty tables, and the class means where they are what votes are made of."""
    return Pipeline([*_start(), *([_class_means()] if votes == "single_release" else [])])


def _start() -> list[Node]:
    return [
        WASP.node(nodes.start_models, models(), WASP("state"), name="start_models"),
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
