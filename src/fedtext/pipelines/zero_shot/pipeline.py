"""zero_shot: labelled texts of all generators without an example and without private text, round 0 of WASP."""

from kedro.pipeline import Pipeline

from fedtext.pipelines.outputs.pipeline import public_texts
from fedtext.pipelines.zero_shot import nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.generators import generator_inputs
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

ZERO_SHOT = Namespace("zero_shot")
TASK = "params:task"


def create_pipeline(settings: Settings) -> Pipeline:
    """Create texts, their embeddings, and an empty ledger."""
    made, texts = ALGORITHM.outputs, ZERO_SHOT("final_texts")
    asked = {"task": TASK, "zero_shot": "params:zero_shot", "chunking": "params:chunking"}
    written = {**asked, **generator_inputs(settings.generators)}
    return Pipeline(
        [
            ZERO_SHOT.node(
                nodes.open_zero_shot_ledger,
                ["population", TASK, "params:privacy"],
                made.ledger,
                name="open_zero_shot_ledger",
                tags=Tag.BUDGET,
            ),
            ZERO_SHOT.node(nodes.write_zero_shot_texts, written, texts, name="write_zero_shot_texts"),
            *public_texts(ZERO_SHOT.name, texts),
        ]
    )


ALGORITHM = Algorithm(
    name=ZERO_SHOT.name,
    title="Zero-shot",
    paper="Ye et al., EMNLP 2022 (ZeroGen)",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
)
