"""sources: one private corpus -> private records; packages, a table or a description -> public records."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.sources import nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.readers import Reader

CORPUS, PRIVACY = "params:corpus", "params:privacy"


def docstrings_pipeline() -> Pipeline:
    """Create private records of the standard library: the offline corpus."""
    return Pipeline(
        [
            node(
                nodes.read_private_docstrings,
                [CORPUS, PRIVACY],
                "private_records",
                name=Reader.DOCSTRINGS,
                tags=Tag.READS_PACKAGES,
            )
        ]
    )


def table_pipeline() -> Pipeline:
    """Create private records of a CSV, Parquet or JSONL file."""
    return Pipeline([node(nodes.read_private_table, [CORPUS, PRIVACY], "private_records", name=Reader.TABLE)])


def published_pipeline() -> Pipeline:
    """Create private records of a published data set in a local file or directory."""
    return Pipeline([node(nodes.read_private_published, [CORPUS, PRIVACY], "private_records", name=Reader.PUBLISHED)])


def snapshot_pipeline() -> Pipeline:
    """Create private records of a LargeFedBench snapshot.

    The snapshot is an input by its content, so it is verified again whenever a byte of it changed.
    """
    inputs = ["largefedbench_snapshot", CORPUS, PRIVACY]
    return Pipeline([node(nodes.read_private_snapshot, inputs, "private_records", name=Reader.SNAPSHOT)])


def public_text_pipeline(settings: Settings) -> Pipeline:
    """Create the public texts for prompts and the public baseline: a table, else as described, else packages."""
    if settings.is_described:
        return described_text_pipeline()
    own = settings.group("corpus").get("public_path") is not None
    read = node(nodes.read_public_records, CORPUS, "public_records", name=Reader.PUBLIC, tags=Tag.READS_PACKAGES)
    return Pipeline([read, *([_judged()] if own else [])])


def _judged() -> Node:
    """Measure how well a generator knows the user's own public text."""
    return node(nodes.judge_generator, ["public_records", "generator"], "generator_fit", name="judge_generator")


def described_text_pipeline() -> Pipeline:
    """Create topics and public records from `corpus.description`.

    Its nodes are given the description and not all of `corpus`, which names the private file: the guard takes a node
    with that name for a reader of private data, which may query no server.
    """
    told = ["params:corpus.description", "params:described", "describer", "encoder"]
    return Pipeline(
        [
            node(nodes.propose_topics, told, "public_topics", name="propose_topics"),
            node(
                nodes.write_described_texts,
                ["public_topics", "params:corpus.public_texts", *told],
                "public_records",
                name=Reader.DESCRIPTION,
            ),
        ]
    )
