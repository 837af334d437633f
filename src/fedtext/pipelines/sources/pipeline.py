"""sources: one private corpus -> private records; packages, a table or a description -> public records."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.params.corpus import is_described
from fedtext.pipelines.sources import nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import active_group
from fedtext.wiring.readers import Reader

CORPUS, PRIVACY = "params:corpus", "params:privacy"


def docstrings_pipeline() -> Pipeline:
    """The standard library -> private records: the offline corpus."""
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
    """A CSV, Parquet or JSONL file -> private records."""
    return Pipeline([node(nodes.read_private_table, [CORPUS, PRIVACY], "private_records", name=Reader.TABLE)])


def published_pipeline() -> Pipeline:
    """A published data set in a local file or directory -> private records."""
    return Pipeline([node(nodes.read_private_published, [CORPUS, PRIVACY], "private_records", name=Reader.PUBLISHED)])


def snapshot_pipeline() -> Pipeline:
    """A LargeFedBench snapshot -> private records.

    A directory that a parameter names is an input by its content, so a snapshot is verified again whenever a byte of it
    changed. Where the raw pages lie is no input of this node.
    """
    inputs = [CORPUS, PRIVACY, "params:largefedbench.out_dir"]
    return Pipeline([node(nodes.read_private_snapshot, inputs, "private_records", name=Reader.SNAPSHOT)])


def public_text_pipeline() -> Pipeline:
    """What prompts show and what the public control trains on: a public table, else as described, else packages."""
    corpus = active_group("corpus")
    if is_described(corpus.get("public_path"), corpus.get("description")):
        return described_text_pipeline()
    own = corpus.get("public_path") is not None
    read = node(nodes.read_public_records, CORPUS, "public_records", name=Reader.PUBLIC, tags=Tag.READS_PACKAGES)
    return Pipeline([read, *([_judged()] if own else [])])


def _judged() -> Node:
    """Of the user's own public text a generator may know nothing."""
    return node(nodes.judge_generator, ["public_records", "generator"], "generator_fit", name="judge_generator")


def described_text_pipeline() -> Pipeline:
    """`corpus.description` -> topics -> public records.

    Its nodes are given the description and not all of `corpus`, which names the private file: whoever holds that name
    reads private data to the guard, and may ask no server.
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
