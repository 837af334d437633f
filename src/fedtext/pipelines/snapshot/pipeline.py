"""snapshot: private records from a LargeFedBench snapshot."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.snapshot.nodes import read_private_snapshot


def create_pipeline() -> Pipeline:
    """One node: snapshot -> private records."""
    inputs = ["params:corpus", "params:largefedbench"]
    return Pipeline([node(read_private_snapshot, inputs, "private_records", name="read_private_snapshot")])
