"""table: private records from a CSV, Parquet or JSONL file."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.table.nodes import read_private_table


def create_pipeline() -> Pipeline:
    """One node: file -> private records."""
    return Pipeline([node(read_private_table, "params:corpus", "private_records", name="read_private_table")])
