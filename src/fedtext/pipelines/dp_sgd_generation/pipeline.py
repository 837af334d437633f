"""dp_sgd_generation: fine-tunes the generator on the private texts by DP-SGD; then it writes texts of each class."""

from kedro.pipeline import Node, Pipeline

from fedtext.algorithms.dp_sgd_generation import NAME
from fedtext.pipelines.dp_sgd_generation import nodes
from fedtext.pipelines.outputs.pipeline import final_texts
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

TUNED = Namespace(NAME)
PARAMETERS, PRIVACY, CHUNKING = f"params:{NAME}", "params:privacy", "params:chunking"
START, ROWS, TRAINED, ADAPTER = (TUNED(n) for n in ("server", "private_rows", "tuned.server", "tuned.adapter"))


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the pipeline: data holders tokenise their private data, and there is one release."""
    return Pipeline([*_training(), *_synthetic()])


def _training() -> list[Node]:
    opened = TUNED("ledger_open")
    return [
        TUNED.node(nodes.start_weights, ["generator", PARAMETERS], START, name="start_weights", tags=Tag.START),
        TUNED.node(
            nodes.open_dp_sgd_ledger,
            ["population", START, PARAMETERS, PRIVACY],
            opened,
            name="open_dp_sgd_ledger",
            tags=Tag.BUDGET,
        ),
        TUNED.node(
            nodes.tokenise_behind_classes,
            ["private_train", "generator", PARAMETERS, CHUNKING],
            ROWS,
            name="tokenise_behind_classes",
        ),
        TUNED.node(
            nodes.train_privately,
            [ROWS, "private_enrolment", "private_noise_key", opened, "generator", START, PARAMETERS],
            [TRAINED, ALGORITHM.outputs.ledger],
            name="train_privately",
            tags=Tag.RELEASE,
        ),
        TUNED.node(nodes.write_adapter, ["generator", TRAINED, PARAMETERS], ADAPTER, name="write_adapter"),
    ]


def _synthetic() -> list[Node]:
    made, texts = ALGORITHM.outputs, TUNED("final_texts")
    return [
        TUNED.node(
            nodes.write_class_texts, ["generator", ADAPTER, PARAMETERS, CHUNKING], texts, name="write_class_texts"
        ),
        *final_texts(TUNED.name),
        TUNED.node(nodes.count_exchanged, [START, "population", PARAMETERS], made.exchange, name="count_exchanged"),
    ]


ALGORITHM = Algorithm(
    name=TUNED.name,
    title="DP-SGD and generation",
    paper="Yue et al., ACL 2023",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
)
