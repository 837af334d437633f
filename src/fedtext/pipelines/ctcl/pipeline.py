"""ctcl: topics of public text, their noisy counts, a generator tuned behind their keywords, texts in proportion."""

from kedro.pipeline import Node, Pipeline

from fedtext.algorithms.ctcl.plan import NAME
from fedtext.pipelines.ctcl import nodes
from fedtext.pipelines.outputs.pipeline import final_texts
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

CTCL = Namespace(NAME)
PARAMETERS, PRIVACY, CHUNKING = f"params:{NAME}", "params:privacy", "params:chunking"
NAMED, CENTRES, COUNTS, COUNTED = map(CTCL, ("topic_keywords", "topic_embeddings", "topics.scores", "topics.ledger"))
START, ROWS, TRAINED, ADAPTER = map(CTCL, ("server", "private_rows", "tuned.server", "tuned.adapter"))


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the pipeline: two releases of the private samples, their topics and the trained adapter."""
    return Pipeline([*_public(), *_releases(), *_synthetic()])


def _public() -> list[Node]:
    return [
        CTCL.node(
            nodes.find_topics,
            ["public_samples", "public_embeddings", PARAMETERS],
            [NAMED, CENTRES],
            name="find_topics",
        ),
        CTCL.node(
            nodes.teach_keywords,
            ["generator", "public_samples", PARAMETERS, CHUNKING],
            START,
            name="teach_keywords",
            tags=Tag.START,
        ),
        CTCL.node(
            nodes.open_ctcl_ledger,
            ["population", START, PARAMETERS, PRIVACY],
            CTCL("ledger_open"),
            name="open_ctcl_ledger",
            tags=Tag.BUDGET,
        ),
    ]


def _releases() -> list[Node]:
    held = ["private_enrolment", "private_noise_key"]
    return [
        CTCL.node(
            nodes.count_topics,
            ["private_embeddings", *held, CTCL("ledger_open"), CENTRES, PARAMETERS],
            [COUNTS, COUNTED],
            name="count_topics",
            tags=Tag.RELEASE,
        ),
        CTCL.node(
            nodes.tokenise_behind_keywords,
            ["private_train", "private_embeddings", "generator", NAMED, CENTRES, PARAMETERS, CHUNKING],
            ROWS,
            name="tokenise_behind_keywords",
        ),
        CTCL.node(
            nodes.train_privately,
            [ROWS, *held, COUNTED, "generator", START, PARAMETERS],
            [TRAINED, ALGORITHM.outputs.ledger],
            name="train_privately",
            tags=Tag.RELEASE,
        ),
    ]


def _synthetic() -> list[Node]:
    made, texts = ALGORITHM.outputs, CTCL("final_texts")
    return [
        CTCL.node(nodes.write_adapter, ["generator", TRAINED, PARAMETERS], ADAPTER, name="write_adapter"),
        CTCL.node(
            nodes.write_by_topic,
            ["generator", ADAPTER, NAMED, COUNTS, PARAMETERS, CHUNKING],
            texts,
            name="write_by_topic",
        ),
        *final_texts(NAME),
        CTCL.node(nodes.count_exchanged, [START, "population", PARAMETERS], made.exchange, name="count_exchanged"),
    ]


ALGORITHM = Algorithm(
    name=NAME,
    title="CTCL",
    paper="Tan et al., ICML 2025",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
)
