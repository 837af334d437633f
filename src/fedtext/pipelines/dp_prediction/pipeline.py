"""dp_prediction: texts drawn token by token from what the private texts of a group of clients make more likely."""

from kedro.pipeline import Node, Pipeline

from fedtext.algorithms.dp_prediction.plan import NAME
from fedtext.pipelines.dp_prediction import nodes
from fedtext.pipelines.outputs.pipeline import final_texts
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

PREDICTED = Namespace(NAME)
PARAMETERS, PRIVACY, CHUNKING = f"params:{NAME}", "params:privacy", "params:chunking"
ROWS, OPENED, TOKENS, TEXTS = map(PREDICTED, ("private_rows", "ledger_open", "written.rows", "final_texts"))


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the pipeline: prompts are tokenised, and there is one release, the texts."""
    return Pipeline([*_writing(), *final_texts(NAME)])


def _writing() -> list[Node]:
    made = ALGORITHM.outputs
    return [
        PREDICTED.node(
            nodes.open_prediction_ledger,
            ["population", PARAMETERS, PRIVACY],
            OPENED,
            name="open_prediction_ledger",
            tags=Tag.BUDGET,
        ),
        PREDICTED.node(
            nodes.tokenise_prompts, ["private_train", "generator", PARAMETERS], ROWS, name="tokenise_prompts"
        ),
        PREDICTED.node(
            nodes.write_tokens,
            [ROWS, "private_enrolment", "private_noise_key", OPENED, "generator", "public_samples", PARAMETERS],
            [TOKENS, made.ledger],
            name="write_tokens",
            tags=Tag.RELEASE,
        ),
        PREDICTED.node(nodes.read_texts, ["generator", TOKENS, PARAMETERS, CHUNKING], TEXTS, name="read_texts"),
        PREDICTED.node(nodes.count_exchanged, PARAMETERS, made.exchange, name="count_exchanged"),
    ]


ALGORITHM = Algorithm(
    name=NAME,
    title="Private prediction",
    paper="Vinod et al., 2025; Amin et al., 2024",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
)
