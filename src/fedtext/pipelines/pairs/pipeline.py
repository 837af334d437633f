"""pairs: preference pairs in place of texts: enrolment, splits, embeddings. Nothing is released here."""

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.clients import nodes as clients
from fedtext.pipelines.clients.pipeline import noise_key
from fedtext.pipelines.pairs import nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.readers import Reader
from fedtext.wiring.unrolling import Namespace

PAIRS = Namespace("pairs")
CORPUS, PRIVACY, PARTITION = "params:corpus", "params:privacy", "params:partition"
RECORDS, TRAIN, VALIDATION, TEST, EMBEDDINGS, ENROLMENT = (
    PAIRS(f"private_{name}") for name in ("records", "train", "validation", "test", "embeddings", "enrolment")
)
POPULATION, SHARPNESS, SHOWN = PAIRS("population"), PAIRS("sharpness"), PAIRS("shown")


def create_pipeline(settings: Settings, *, counted: bool = False) -> Pipeline:
    """Create the pairs that `corpus` names, or simulated annotators', split by client; a pair is a record.

    `counted`: the population is counted.
    """
    return Pipeline(
        [
            noise_key(),
            *(_simulated() if settings.group("corpus")["source"] == "docstrings" else [_read()]),
            PAIRS.node(
                nodes.split_pairs,
                [RECORDS, CORPUS, PARTITION],
                [TRAIN, VALIDATION, TEST],
                name="split_pairs",
                tags=Tag.SPLIT,
            ),
            _counted() if counted else _declared(),
            PAIRS.node(
                clients.enrol_units,
                [RECORDS, TRAIN, CORPUS, PRIVACY, PARTITION],
                ENROLMENT,
                name="enrol_units",
                tags=Tag.CHECK,
            ),
            PAIRS.node(
                nodes.embed_private_pairs,
                [TRAIN, "encoder", "params:corpus.source"],
                EMBEDDINGS,
                name="embed_private_pairs",
            ),
        ]
    )


def _read() -> Node:
    given = [CORPUS, PRIVACY, PARTITION]
    return PAIRS.node(nodes.read_private_pairs, given, RECORDS, name=Reader.PAIRS, tags=Tag.CHECK)


def _simulated() -> list[Node]:
    given = ["generator", CORPUS, "params:annotation"]
    answered = {SHARPNESS: nodes.set_sharpness, SHOWN: nodes.answer_questions}
    return [
        *(
            PAIRS.node(function, given, made, name=function.__name__, tags=Tag.READS_PACKAGES)
            for made, function in answered.items()
        ),
        PAIRS.node(
            nodes.ask_annotators,
            [SHOWN, SHARPNESS, CORPUS, PRIVACY, "params:annotation"],
            RECORDS,
            name="ask_annotators",
        ),
    ]


def _declared() -> Node:
    given = [CORPUS, PRIVACY, PARTITION]
    return PAIRS.node(clients.declare_population, given, POPULATION, name=Reader.ENROLMENT, tags=Tag.COUNT)


def _counted() -> Node:
    given = [RECORDS, RECORDS, PRIVACY, PARTITION]
    return PAIRS.node(clients.count_population, given, POPULATION, name="count_population", tags=Tag.COUNT)
