"""sources: docstrings, table or snapshot -> private records, and public_text; each is a pipeline of one node."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.sources import nodes
from fedtext.privacy.tags import Tag

CORPUS, PRIVACY = "params:corpus", "params:privacy"


def docstrings_pipeline() -> Pipeline:
    """The standard library -> private records: the offline corpus."""
    return Pipeline(
        [
            node(
                nodes.read_private_docstrings,
                [CORPUS, PRIVACY],
                "private_records",
                name="read_private_docstrings",
                tags=Tag.READS_PACKAGES,
            )
        ]
    )


def table_pipeline() -> Pipeline:
    """A CSV, Parquet or JSONL file -> private records."""
    return Pipeline([node(nodes.read_private_table, [CORPUS, PRIVACY], "private_records", name="read_private_table")])


def snapshot_pipeline() -> Pipeline:
    """A LargeFedBench snapshot -> private records.

    A directory that a parameter names is an input by its content, so a snapshot is verified again whenever a byte of it
    changed. Where the raw pages lie is no input of this node.
    """
    inputs = [CORPUS, PRIVACY, "params:largefedbench.out_dir"]
    return Pipeline([node(nodes.read_private_snapshot, inputs, "private_records", name="read_private_snapshot")])


def public_text_pipeline() -> Pipeline:
    """Installed packages, or a public table -> public records: for prompts, and what the public control trains on."""
    return Pipeline(
        [
            node(
                nodes.read_public_records,
                CORPUS,
                "public_records",
                name="read_public_records",
                tags=Tag.READS_PACKAGES,
            )
        ]
    )
