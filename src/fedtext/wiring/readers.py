"""Names of the nodes that read a user's files, for pipelines and for the checks before a run."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedro.pipeline import Pipeline


class Reader(StrEnum):
    """Name of a node that reads a user's file; a pipeline's namespace may stand before it."""

    TABLE = "read_private_table"
    PUBLISHED = "read_private_published"
    SNAPSHOT = "read_private_snapshot"
    DOCSTRINGS = "read_private_docstrings"
    PAIRS = "read_private_pairs"
    ENROLMENT = "declare_population"
    PUBLIC = "read_public_records"
    PROMPTS = "read_public_prompts"
    PUBLIC_PAIRS = "learn_public_scorer"
    DESCRIPTION = "write_described_texts"


OF_OWN_TEXT = frozenset({Reader.TABLE, Reader.PUBLISHED, Reader.SNAPSHOT})  # private text in a file that is named


def readers(pipeline: Pipeline) -> set[Reader]:
    """Return the readers among a pipeline's nodes."""
    names = {node.name.rpartition(".")[2] for node in pipeline.nodes}
    return {reader for reader in Reader if reader in names}
