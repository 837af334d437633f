"""ingest: a polite, resumable pull from one public source."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.ingest.nodes import pull_raw_pages


def create_pipeline() -> Pipeline:
    """One node: raw pages are files under `ingest.raw_dir`, its output is the report.

    The report is not saved, so that every run looks at the source again: the finished windows on disk, not the record
    of an earlier run, say what is left to do.
    """
    return Pipeline([node(pull_raw_pages, "params:ingest", "ingest_report", name="pull_raw_pages")])
