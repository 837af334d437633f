"""largefedbench_export: a snapshot -> the JSON of POPri's authors, a file a split."""

from kedro.pipeline import Pipeline, node

from fedtext.corpora.records import SPLITS
from fedtext.pipelines.export.nodes import export_snapshot


def create_pipeline() -> Pipeline:
    """Create the one node; the rows stream from the snapshot into the files."""
    return Pipeline(
        [
            node(
                export_snapshot,
                ["params:export", "params:largefedbench.out_dir"],
                [f"export_{split}" for split in SPLITS],
                name="export_snapshot",
            )
        ]
    )
