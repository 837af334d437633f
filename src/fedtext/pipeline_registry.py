"""The table of contents: every pipeline by name, and the main job."""

from kedro.pipeline import Pipeline

from fedtext.pipelines.client_tokens.pipeline import create_pipeline as client_tokens
from fedtext.pipelines.clients.pipeline import create_pipeline as clients
from fedtext.pipelines.compare.pipeline import create_pipeline as compare
from fedtext.pipelines.docstrings.pipeline import create_pipeline as docstrings
from fedtext.pipelines.dp_fedavg.pipeline import create_pipeline as dp_fedavg
from fedtext.pipelines.dp_ftrl.pipeline import create_pipeline as dp_ftrl
from fedtext.pipelines.evaluation import pipeline as evaluation
from fedtext.pipelines.ingest.pipeline import create_pipeline as ingest
from fedtext.pipelines.largefedbench.pipeline import create_pipeline as largefedbench
from fedtext.pipelines.largefedbench_diff.pipeline import create_pipeline as largefedbench_diff
from fedtext.pipelines.partition.pipeline import create_pipeline as partition
from fedtext.pipelines.pe.pipeline import create_pipeline as pe
from fedtext.pipelines.pe_sft.pipeline import create_pipeline as pe_sft
from fedtext.pipelines.popri.pipeline import create_pipeline as popri
from fedtext.pipelines.pretrain.pipeline import create_pipeline as pretrain
from fedtext.pipelines.public_text.pipeline import create_pipeline as public_text
from fedtext.pipelines.report import pipeline as report
from fedtext.pipelines.snapshot.pipeline import create_pipeline as snapshot
from fedtext.pipelines.table.pipeline import create_pipeline as table
from fedtext.wiring.config import active_group, corpus_is_public


def register_pipelines() -> dict[str, Pipeline]:
    """All pipelines. An algorithm's name is its whole job; `__default__` is POPri's.

    A job is source -> public text -> partition -> clients -> algorithm -> evaluation -> report; what an earlier run has
    left below the data root is not done again, so jobs share all that they have in common.
    """
    sources = {"docstrings": docstrings(), "table": table(), "snapshot": snapshot()}
    source = active_group("corpus")["source"]
    if source not in sources:
        raise ValueError(f"corpus.source is {source!r}: choose one of {', '.join(sources)}")
    declared = active_group("privacy")
    counted = corpus_is_public() and declared["population"] is None and declared["enrolment"] is None
    steps = {
        "public_text": public_text(),
        "partition": partition(),
        "clients": clients(counted=counted),
        "controls": evaluation.controls_pipeline(),
    }
    common = Pipeline([sources[source], *steps.values()])
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
        **sources,
        **steps,
        **jobs,
        "compare": compare(jobs),
        "ingest": ingest(),
        "largefedbench": largefedbench(),
        "largefedbench_diff": largefedbench_diff(),
        "pretrain": pretrain(),
    }


def _job(common: Pipeline, name: str, algorithm: Pipeline) -> Pipeline:
    """The whole job of an algorithm: what it writes says whether a model or text is judged, and by which controls."""
    written = algorithm.all_outputs()
    if f"{name}_model" in written:
        own = [client_tokens(), algorithm, evaluation.model_pipeline(name), report.model_pipeline(name)]
    else:
        matched = f"{name}_matched_public" in written
        own = [algorithm, evaluation.text_pipeline(name, matched=matched), report.text_pipeline(name)]
    return Pipeline([common, *own])
