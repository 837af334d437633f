"""public_text: what prompts are made of and what the public control trains on."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.public_text.nodes import read_public_records


def create_pipeline() -> Pipeline:
    """One node: installed packages (or a public table) -> public records."""
    return Pipeline(
        [
            node(
                read_public_records,
                "params:corpus",
                "public_records",
                name="read_public_records",
                tags="reads_installed_packages",
            )
        ]
    )
