"""pe_sft: fine-tunes the generator on Private Evolution's best samples; reads only its survivors."""

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.outputs.pipeline import final_texts
from fedtext.pipelines.pe.pipeline import PE, SURVIVORS
from fedtext.pipelines.pe_sft import nodes
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

TUNED = Namespace("pe_sft")
PE_SFT = "params:pe_sft"


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the nodes from the survivors of all of Private Evolution's rounds to a synthetic data set."""
    return Pipeline([*_training(), *_synthetic()])


def _training() -> list[Node]:
    return [
        TUNED.node(
            nodes.choose_best_samples,
            [SURVIVORS, PE_SFT],
            TUNED("tuned.survivors"),
            name="choose_best_samples",
        ),
        TUNED.node(
            nodes.train_on_best_samples,
            ["generator", TUNED("tuned.survivors"), PE_SFT],
            [TUNED("tuned.adapter"), "pe_sft_training_log"],
            name="train_on_best_samples",
        ),
    ]


def _synthetic() -> list[Node]:
    prompts, texts = TUNED("final_prompts"), TUNED("final_texts")
    return [
        TUNED.node(
            nodes.draw_tuned_prompts,
            [TUNED("tuned.survivors"), "public_samples", PE_SFT],
            prompts,
            name="draw_tuned_prompts",
        ),
        TUNED.node(
            nodes.write_tuned_texts,
            ["generator", TUNED("tuned.adapter"), prompts, PE_SFT, "params:chunking"],
            texts,
            name="write_tuned_texts",
        ),
        *final_texts(TUNED.name),
    ]


ALGORITHM = Algorithm(
    name=TUNED.name,
    title="PE+SFT",
    paper="Hou et al., ICML 2025",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
    depends_on=PE.name,
    assumption="everything PE+SFT adds is computed from Private Evolution's noised histograms and public text alone",
)
