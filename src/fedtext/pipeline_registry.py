"""The table of contents: every pipeline by name, and the main job."""

from kedro.pipeline import Pipeline

from fedtext.pipelines.clients import pipeline as clients
from fedtext.pipelines.compare.pipeline import create_pipeline as compare
from fedtext.pipelines.dp_fedavg.pipeline import create_pipeline as dp_fedavg
from fedtext.pipelines.dp_ftrl.pipeline import create_pipeline as dp_ftrl
from fedtext.pipelines.evaluation import pipeline as evaluation
from fedtext.pipelines.largefedbench import pipeline as largefedbench
from fedtext.pipelines.partition.pipeline import create_pipeline as partition
from fedtext.pipelines.pe.pipeline import create_pipeline as pe
from fedtext.pipelines.pe_sft.pipeline import create_pipeline as pe_sft
from fedtext.pipelines.popri.pipeline import create_pipeline as popri
from fedtext.pipelines.pretrain.pipeline import create_pipeline as pretrain
from fedtext.pipelines.report import pipeline as report
from fedtext.pipelines.sources import pipeline as sources
from fedtext.wiring.config import active_group, corpus_is_public


def register_pipelines() -> dict[str, Pipeline]:
    """All pipelines. An algorithm's name is its whole job; `__default__` is POPri's.

    A job is source -> public text -> partition -> clients -> algorithm -> evaluation -> report; what an earlier run has
    left below the data root is not done again, so jobs share all that they have in common.
    """
    private = {
        "docstrings": sources.docstrings_pipeline(),
        "table": sources.table_pipeline(),
        "snapshot": sources.snapshot_pipeline(),
    }
    source = active_group("corpus")["source"]
    if source not in private:
        raise ValueError(f"corpus.source is {source!r}: choose one of {', '.join(private)}")
    declared = active_group("privacy")
    counted = corpus_is_public() and declared["population"] is None and declared["enrolment"] is None
    steps = {
        "public_text": sources.public_text_pipeline(),
        "partition": partition(),
        "clients": clients.create_pipeline(counted=counted),
        "controls": evaluation.controls_pipeline(),
    }
    common = Pipeline([private[source], *steps.values()])
    algorithms = {
        "popri": popri(),
        "dp_fedavg": dp_fedavg(),
        "dp_ftrl": dp_ftrl(),
        "pe": pe(),
        "pe_sft": Pipeline([pe(), pe_sft()]),
    }
    jobs = {name: _job(common, name, algorithm) for name, algorithm in algorithms.items()}
    return {
        "__default__": jobs["popri"],
        **private,
        **steps,
        **jobs,
        "compare": compare(jobs),
        "ingest": largefedbench.ingest_pipeline(),
        "largefedbench": largefedbench.build_pipeline(),
        "largefedbench_diff": largefedbench.diff_pipeline(),
        "pretrain": pretrain(),
    }


def _job(common: Pipeline, name: str, algorithm: Pipeline) -> Pipeline:
    """The whole job of an algorithm: what it writes says whether a model or text is judged, and by which controls."""
    written = algorithm.all_outputs()
    if f"{name}_model" in written:
        own = [clients.tokens_pipeline(), algorithm, evaluation.model_pipeline(name), report.model_pipeline(name)]
    else:
        matched = f"{name}_matched_public" in written
        own = [algorithm, evaluation.text_pipeline(name, matched=matched), report.text_pipeline(name)]
    return Pipeline([common, *own])
