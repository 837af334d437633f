"""fusegen: rounds in which all generators see each other's texts, chosen by their classifiers; no private text."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.fusegen import nodes
from fedtext.pipelines.outputs.pipeline import public_texts
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.generators import generator_inputs
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace, unroll

FUSEGEN = Namespace("fusegen")
TASK, PARAMETERS = "params:task", "params:fusegen"


def create_pipeline(settings: Settings) -> Pipeline:
    """Create an empty ledger, the rounds, and the synthetic data set."""
    rounds = settings.rounds(FUSEGEN.name)
    written = FUSEGEN.round(rounds, "written")
    return Pipeline(
        [
            *_setup(settings.generators),
            unroll(
                Pipeline(_round(settings.generators)),
                rounds=rounds,
                namespace=FUSEGEN.name,
                carried={"written_before": "written", "shown_before": "shown"},
                first={"written_before": FUSEGEN("written"), "shown_before": FUSEGEN("shown")},
            ),
            *public_texts(FUSEGEN.name, written),
        ]
    )


def _setup(generators: tuple[str, ...]) -> list[Node]:
    return [
        FUSEGEN.node(
            nodes.ledger_opener(generators),
            ["population", TASK, "params:privacy"],
            ALGORITHM.outputs.ledger,
            name="open_fusegen_ledger",
            tags=Tag.BUDGET,
        ),
        FUSEGEN.node(nodes.start_fusegen, None, [FUSEGEN("written"), FUSEGEN("shown")], name="start_fusegen"),
    ]


def _round(generators: tuple[str, ...]) -> list[Node]:
    before = {"written_before": "written_before", "shown_before": "shown_before"}
    asked = {"task": TASK, "fusegen": PARAMETERS, "chunking": "params:chunking"}
    return [
        node(
            nodes.write_round_texts,
            {**before, **asked, **generator_inputs(generators)},
            "written",
            name="write_round_texts",
        ),
        node(nodes.choose_examples, ["written", "encoder", TASK, PARAMETERS], "shown", name="choose_examples"),
    ]


ALGORITHM = Algorithm(
    name=FUSEGEN.name,
    title="FuseGen",
    paper="Zou et al., EMNLP 2024",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
)
