"""The table of contents: every pipeline by name, and the main job."""

from kedro.pipeline import Pipeline

from fedtext.config import active_parameters
from fedtext.pipelines.clients.pipeline import create_pipeline as clients
from fedtext.pipelines.docstrings.pipeline import create_pipeline as docstrings
from fedtext.pipelines.evaluation.pipeline import create_pipeline as evaluation
from fedtext.pipelines.ingest.pipeline import create_pipeline as ingest
from fedtext.pipelines.largefedbench.pipeline import create_pipeline as largefedbench
from fedtext.pipelines.largefedbench_diff.pipeline import create_pipeline as largefedbench_diff
from fedtext.pipelines.partition.pipeline import create_pipeline as partition
from fedtext.pipelines.popri.pipeline import create_pipeline as popri
from fedtext.pipelines.pretrain.pipeline import create_pipeline as pretrain
from fedtext.pipelines.public_text.pipeline import create_pipeline as public_text
from fedtext.pipelines.report.pipeline import create_pipeline as report
from fedtext.pipelines.snapshot.pipeline import create_pipeline as snapshot
from fedtext.pipelines.table.pipeline import create_pipeline as table


def register_pipelines() -> dict[str, Pipeline]:
    """All pipelines; `__default__` is source -> partition -> popri -> evaluation -> report."""
    sources = {"docstrings": docstrings(), "table": table(), "snapshot": snapshot()}
    steps = {
        "public_text": public_text(),
        "partition": partition(),
        "clients": clients(),
        "popri": popri(),
        "evaluation": evaluation(),
        "report": report(),
    }
    source = active_parameters()["corpus"]["source"]
    if source not in sources:
        raise ValueError(f"corpus.source is {source!r}: choose one of {', '.join(sources)}")
    return {
        "__default__": Pipeline([sources[source], *steps.values()]),
        **sources,
        **steps,
        "ingest": ingest(),
        "largefedbench": largefedbench(),
        "largefedbench_diff": largefedbench_diff(),
        "pretrain": pretrain(),
    }
