"""largefedbench_diff: two snapshots -> what changed."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.largefedbench_diff.nodes import compare_snapshots


def create_pipeline() -> Pipeline:
    """One node; the difference is handed on in memory too, so that every run compares again."""
    return Pipeline(
        [
            node(
                compare_snapshots,
                ["params:old", "params:new", "params:largefedbench"],
                ["largefedbench_difference", "largefedbench_changes"],
                name="compare_snapshots",
            )
        ]
    )
