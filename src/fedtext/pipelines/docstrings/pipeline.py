"""docstrings: the offline private corpus."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.docstrings.nodes import read_private_docstrings


def create_pipeline() -> Pipeline:
    """One node: standard library -> private records."""
    return Pipeline(
        [
            node(
                read_private_docstrings,
                ["params:corpus", "params:privacy"],
                "private_records",
                name="read_private_docstrings",
                tags="reads_installed_packages",
            )
        ]
    )
