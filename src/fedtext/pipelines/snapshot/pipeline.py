"""snapshot: private records from a LargeFedBench snapshot."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.snapshot.nodes import read_private_snapshot


def create_pipeline() -> Pipeline:
    """One node: snapshot -> private records.

    A directory that a parameter names is an input by its content, so a snapshot is verified again whenever a byte of it
    changed. Where the raw pages lie is no input of this node.
    """
    inputs = ["params:corpus", "params:privacy", "params:largefedbench.out_dir"]
    return Pipeline([node(read_private_snapshot, inputs, "private_records", name="read_private_snapshot")])
