"""table: private records from a CSV, Parquet or JSONL file."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.table.nodes import read_private_table


def create_pipeline() -> Pipeline:
    """One node: file -> private records."""
    inputs = ["params:corpus", "params:privacy"]
    return Pipeline([node(read_private_table, inputs, "private_records", name="read_private_table")])
